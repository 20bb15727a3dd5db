"""Ensembles of networks that are known in closed form, against loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jaxtyping import Array, Float

import pliant
from learned_networks import plain
from pliant.discrepancies.ensemble import AbstractNetwork, Ensemble
from pliant.discrepancies.reading import Reading
from pliant.problem.scale import Squash, Standardise, parameter_features
from pliant.problem.sets import observed_draws

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).poisson(2.0, (7, 2)),
)
Z = PROBLEM.prior.sample(jax.random.key(0), 5)


class Linear(AbstractNetwork):
    """``-(u - A c - b)^2 / 2``, of the cells' centres if so wanted."""

    matrix: Float[Array, "d c"]
    bias: Float[Array, " d"]
    of_cells: bool = eqx.field(static=True)

    def log_values(self, x, theta):
        u = jnp.round(x.u) if self.of_cells else x.u
        return -0.5 * jnp.sum((u - self.matrix @ theta - self.bias[:, None]) ** 2, axis=0)

    def with_parameters(self, factor, shift):
        return Linear(self.matrix * factor[None], self.bias + self.matrix @ shift, self.of_cells)


def ensemble(*, counts):
    rng = np.random.default_rng(1)

    def array(*shape):
        return jnp.asarray(rng.normal(size=shape), float)

    networks = [Linear(array(2, 2), array(2), of_cells=counts) for _ in range(3)]
    return Ensemble(
        squash=Squash(jnp.zeros(2), jnp.ones(2)),
        theta_squash=Squash(jnp.zeros(1), jnp.ones(1)),
        reading=Reading(np.arange(2), np.full(2, counts), np.zeros(0, int), None),
        summary=None,
        standardise=Standardise(array(2), jnp.array([0.5, 2.0])),
        networks=tuple(networks),
        shares=np.full(3, 1 / 3),
        relevance=np.ones(1),
        n_draws=100,
    )


@pytest.mark.parametrize("counts", [False, True])
def test_values_of_all_pairs_are_those_of_a_loop(counts):
    """Counts are averaged over their cell: where a network is constant, that changes nothing."""
    given = ensemble(counts=counts)
    some = np.array([2, 0])
    found = given.log_values(PROBLEM, observed_draws(PROBLEM), Z, some)
    features = np.asarray(parameter_features(PROBLEM, given.theta_squash, Z), np.float64)
    conditions = (features - np.asarray(given.standardise.centre)) / [0.5, 2.0]
    assert found.shape == (2, 5, 7)
    for s, network in enumerate(given.networks[index] for index in some):
        assert isinstance(network, Linear)
        matrix, bias = np.asarray(network.matrix), np.asarray(network.bias)
        for k, condition in enumerate(conditions):
            for n, x in enumerate(np.asarray(PROBLEM.observed)):
                expected = -0.5 * np.sum((x - matrix @ condition - bias) ** 2)
                assert found[s, k, n] == pytest.approx(
                    expected, rel=1e-4, abs=1e-4
                )  # single precision


def test_networks_for_another_standardisation_are_the_same_functions():
    given = ensemble(counts=False)
    other = Standardise(jnp.array([0.5, -0.3]), jnp.array([0.2, 3.0]))
    features, u = jax.random.normal(jax.random.key(2), (2, 40, 2))
    for old, new in zip(given.networks, given.networks_for(other), strict=True):
        np.testing.assert_allclose(
            new.log_values(plain(u.T), other(features).T),
            old.log_values(plain(u.T), given.standardise(features).T),
            rtol=1e-3,  # squares of differences of numbers up to ten
            atol=1e-4,
        )
