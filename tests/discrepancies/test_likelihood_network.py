import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from learned_networks import LIKELIHOOD, random_draws, shaken
from pliant.discrepancies.draws import Examples, Widths, context, context_change, context_length
from pliant.discrepancies.likelihood_network import held_out_density_loss, held_out_kind_loss

PROBLEM = pliant.Problem({"mu": dist.Normal(0, 1)}, lambda key, theta: theta["mu"], np.zeros(3))
THETA = jax.random.normal(jax.random.key(0), (4, 6))
OWN = jax.random.normal(jax.random.key(1), (2, 6))


def mixed_network(numbers=2, size=0.3):
    widths = Widths(numbers=numbers, parameters=4, own=2, kinds=3)
    return shaken(LIKELIHOOD.untrained(jax.random.key(2), PROBLEM, widths), size)


def mixed_examples(kind=0, u=None):
    return Examples(
        u=jax.random.normal(jax.random.key(3), (2, 6)) if u is None else u,
        own=OWN,
        kind=jnp.repeat(jnp.eye(3)[:, kind : kind + 1], 6, axis=1),
        seen=None,
    )


def test_products_of_parameters_and_conditions_are_seen():
    found = context(THETA, OWN)
    assert len(found) == context_length(4, 2) == 4 + 2 + 8
    np.testing.assert_allclose(found[6:], (THETA[:, None] * OWN[None]).reshape(8, 6))
    assert context_length(20, 10) == 30  # too many products
    assert len(context(THETA, OWN[:0])) == 4


@pytest.mark.parametrize("e", [0, 2])
def test_a_change_of_parameters_is_linear_in_the_context(e):
    factor, shift = jnp.array([2.0, 0.5, 1.0, -1.0]), jnp.array([0.3, -1.0, 0.0, 2.0])
    matrix, offset = context_change(factor, shift, e)
    moved = factor[:, None] * THETA + shift[:, None]
    wanted = context(moved, OWN[:e])
    found = matrix @ context(THETA, OWN[:e]) + offset[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("numbers", [2, 0])
def test_the_same_network_for_parameters_on_another_scale(numbers):
    network = mixed_network(numbers)
    x = mixed_examples(u=jnp.zeros((0, 6)) if numbers == 0 else None)
    factor, shift = jnp.array([2.0, 0.5, 1.0, -1.0]), jnp.array([0.3, -1.0, 0.0, 2.0])
    found = network.with_parameters(factor, shift).log_values(x, THETA)
    wanted = network.log_values(x, factor[:, None] * THETA + shift[:, None])
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_kinds_have_probabilities_and_their_numbers_a_density():
    """Summed over kinds and integrated over the numbers, it is one."""
    network = mixed_network(size=0.1)
    axis = jnp.linspace(-12, 12, 241)
    grid = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij")).reshape(2, -1)
    n = grid.shape[1]
    total = 0.0
    for kind in range(3):
        x = Examples(
            u=grid,
            own=jnp.repeat(OWN[:, :1], n, axis=1),
            kind=jnp.repeat(jnp.eye(3)[:, kind : kind + 1], n, axis=1),
            seen=None,
        )
        total += float(jnp.sum(jnp.exp(network.log_values(x, THETA[:, :1])))) * 0.1**2
    assert total == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("flow", [False, True])
def test_what_was_not_measured_is_integrated_out(flow):
    """The density of one known number, whatever stands in place of the other, is normalised."""
    widths = Widths(numbers=2, parameters=4, own=2)
    network = shaken(LIKELIHOOD.untrained(jax.random.key(2), PROBLEM, widths), 0.1)
    network = dataclasses.replace(network, prefers_flow=flow)
    axis = jnp.linspace(-12, 12, 961)
    own = jnp.repeat(OWN[:, :1], len(axis), axis=1)
    for known in (0, 1):
        u = jnp.zeros((2, len(axis))).at[known].set(axis)
        seen = jnp.zeros((2, len(axis)), bool).at[known].set(True)
        x = Examples(u=u, own=own, kind=None, seen=seen)
        values = network.log_values(x, THETA[:, :1])
        assert float(jnp.sum(jnp.exp(values))) * 0.025 == pytest.approx(1, abs=0.01)
    nothing = Examples(u=jnp.zeros((2, 1)), own=own[:, :1], kind=None, seen=jnp.zeros((2, 1), bool))
    np.testing.assert_allclose(network.log_values(nothing, THETA[:, :1]), 0.0, atol=1e-6)


def test_held_out_losses_are_means_over_usable_draws():
    data = random_draws()
    shape = data.ok.shape
    data = dataclasses.replace(
        data,
        own=jnp.asarray(np.random.default_rng(0).normal(size=(*shape, 2)), float),
        kind=jnp.asarray(np.random.default_rng(1).integers(0, 3, shape)),
        n_kinds=3,
    )
    network = mixed_network()
    values = []
    for param in np.asarray(data.held_out_params):
        for draw in range(shape[1]):
            if data.ok[param, draw]:
                x = data.examples(jnp.array([param]), jnp.array([draw]))
                values.append(float(network.log_values(x, data.condition[:, param, None])[0]))
    found = held_out_density_loss(network.density, data) + held_out_kind_loss(network.kinds, data)
    assert float(found) == pytest.approx(-np.mean(values), rel=1e-4)
