"""Contrastive networks: their losses against loops, and an embedding of long observations."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from learned_networks import RATIO, TRAINING, learned, plain, random_draws, shaken
from pliant.discrepancies.draws import Widths

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 1).expand([2]).to_event(1)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal(size=(6, 2)),
)
EMBEDDED = pliant.RatioKL(
    embedding=pliant.Concatenation(features=4, width=16), width=16, training=TRAINING, approach=None
)
U, CONDITION = jnp.split(jax.random.normal(jax.random.key(1), (6, 40)), [2])
WIDTHS = Widths(numbers=2, parameters=4)
log_values = eqx.filter_jit(lambda network, u, theta: network.log_values(plain(u), theta))


@pytest.mark.parametrize("kind", [RATIO, EMBEDDED], ids=["plain", "embedded"])
def test_without_training_all_pairs_have_one_value(kind):
    network = kind.untrained(jax.random.key(0), PROBLEM, WIDTHS)
    assert network.points == (1, 2)
    assert np.ptp(log_values(network, U, CONDITION)) == 0


@pytest.mark.parametrize("kind", [RATIO, EMBEDDED], ids=["plain", "embedded"])
def test_the_same_network_for_conditions_on_another_scale(kind):
    network = shaken(kind.untrained(jax.random.key(0), PROBLEM, WIDTHS))
    factor, shift = jnp.array([0.2, 3.0, 1.0, 0.7]), jnp.array([0.5, -0.3, 0.0, 1.0])
    found = log_values(network.with_parameters(factor, shift), U, CONDITION)
    expected = log_values(network, U, factor[:, None] * CONDITION + shift[:, None])
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)  # single precision


@pytest.mark.parametrize("kind", [RATIO, EMBEDDED], ids=["plain", "embedded"])
def test_one_condition_for_all_points_is_that_condition_for_each(kind):
    network, one = shaken(kind.untrained(jax.random.key(0), PROBLEM, WIDTHS)), CONDITION[:, :1]
    found = log_values(network, U, one)
    expected = log_values(network, U, jnp.broadcast_to(one, CONDITION.shape))
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("atoms", [2, 16])
def test_the_loss_is_the_log_share_of_the_own_parameter(atoms):
    """Three parameters are held out: with two atoms the next one competes, else all of them."""
    data, held_out = random_draws(), [0, 10, 20]
    network = shaken(RATIO.untrained(jax.random.key(0), PROBLEM, WIDTHS))
    means = []
    for m in range(3):
        losses = []
        for place, own in enumerate(held_out):
            rivals = [(place + offset) % 3 for offset in range(min(atoms, 3))]
            condition = data.condition[:, jnp.array([held_out[r] for r in rivals])]
            u = jnp.repeat(data.u[own, m][:, None], len(rivals), axis=1)
            odds = np.exp(np.asarray(log_values(network, u, condition), np.float64))
            losses += [-np.log(odds[0] / odds.sum())] * bool(data.ok[own, m])
        means.append(np.mean(losses) if losses else 0.0)
    kind = dataclasses.replace(RATIO, atoms=atoms)
    assert float(kind.held_out_loss(network, data)) == pytest.approx(np.mean(means), rel=1e-4)


def test_the_average_is_that_of_logarithms():
    values, shares = np.random.default_rng(0).normal(size=(3, 4, 5)), np.array([0.5, 0.2, 0.3])
    expected = np.average(values, axis=0, weights=shares)
    np.testing.assert_allclose(RATIO.averaged(values, shares), expected, rtol=1e-12)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("option", "value"), [("atoms", 1), ("batch_size", 15), ("width", 0), ("embedding", 4)]
)
def test_options_are_checked(option, value):
    with pytest.raises((TypeError, ValueError), match=option):
        pliant.RatioKL(**{option: value})


def test_an_embedding_shortens_long_observations():
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key, (30, 5)),
        np.random.default_rng(0).normal(size=(6, 30, 5)),
    )
    state, row = learned(EMBEDDED, problem, rounds=1, n_particles=300)
    network: Any = state.networks[0]
    assert network.points == (30, 5)
    assert row["net_loss"] < np.log(16) - 1  # the own parameter is found far above chance
    z = jnp.linspace(-2, 2, 41)[:, None]
    distance, _ = EMBEDDED.distances(problem, state, z)
    assert abs(float(z[np.argmin(distance), 0])) < 0.5
