"""What is remembered of the rounds, and how it is shared out for a training."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.memory import Sizes, empty_memory
from pliant.problem.scale import Squash, Standardise, fit_standardise, parameter_features
from pliant.problem.sets import Draws

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).poisson(2.0, (7, 2)),
)


def test_a_memory_knows_the_scales_of_its_first_draws():
    z = PROBLEM.prior.sample(jax.random.key(1), 200)
    simulated = np.stack([np.arange(100.0), np.linspace(0, 1, 100)], axis=1)
    draws = Draws(simulated[:, None], np.ones((100, 1), bool))
    given = empty_memory(PROBLEM, z, draws, by_kind=True)
    np.testing.assert_array_equal(given.reading.counts, [True, False])  # in observations and draws
    mu = np.asarray(jax.vmap(PROBLEM.prior.space.constrain)(z)["mu"])
    low, middle, high = np.quantile(mu, [0.25, 0.5, 0.75])
    assert given.theta_squash.centre[0] == pytest.approx(middle, abs=1e-5)
    assert low < middle - 0.5 < middle + 0.5 < high  # a normal of spread 2
    assert given.draws == ()


def test_a_memory_keeps_the_newest_rounds_and_spreads_counts():
    z = PROBLEM.prior.sample(jax.random.key(1), 10)
    x = np.stack([np.full((10, 4), 3.0), np.full((10, 4), 0.5)], axis=-1).astype(np.float32)
    ok = np.arange(40).reshape(10, 4) % 5 > 0
    memory = empty_memory(PROBLEM, z, Draws(x, ok), by_kind=False)
    for index in range(4):
        key = jax.random.fold_in(jax.random.key(2), index)
        memory = memory.with_round(key, PROBLEM, z + index, Draws(x + index, ok), window=3)
    assert len(memory.draws) == 3
    for age, draws in enumerate(memory.draws):
        index = 3 - age
        features = parameter_features(PROBLEM, memory.theta_squash, z + index)
        np.testing.assert_array_equal(draws.features, features)
        np.testing.assert_array_equal(np.round(draws.rows[..., 0]), 3 + index)
        assert np.ptp(draws.rows[..., 0]) > 0.5  # 40 draws of a cell of one
        np.testing.assert_array_equal(draws.rows[..., 1], np.float32(0.5 + index))
        np.testing.assert_array_equal(draws.ok, ok)


def test_half_of_a_training_is_shared_out_by_relevance_and_half_evenly():
    z = PROBLEM.prior.sample(jax.random.key(1), 10)
    x, ok = np.ones((10, 4, 2), np.float32), np.ones((10, 4), bool)
    memory = empty_memory(PROBLEM, z, Draws(x, ok), by_kind=False)
    for index in range(3):
        key = jax.random.key(index)
        memory = memory.with_round(key, PROBLEM, z, Draws(x + index, ok), window=5)
    squash = Squash(jnp.zeros(2), jnp.full(2, 2.0))
    standardise = Standardise(jnp.zeros(2), jnp.ones(2))
    relevance = np.array([1.0, 0.5, 0.5])
    data = memory.training_draws(relevance, squash, standardise, Sizes(5, 3, 8))
    expected = 0.5 * relevance / 2 + 0.5 / 3
    np.testing.assert_allclose(np.diff(data.cumulative, prepend=0)[:3], expected, rtol=1e-5)
    assert np.all(np.diff(data.cumulative[2:]) == 0)  # nothing for rounds that were not made
    assert data.u.shape == (50, 4, 2)
    counts = np.asarray(data.u)[:30].reshape(3, 10, 4, 2).mean(axis=(1, 2))
    np.testing.assert_allclose(counts, np.array([3.0, 2, 1])[:, None] / 2 * np.ones(2), atol=0.2)
    assert not np.any(data.ok[30:])
    assert (data.parts, data.batch_size, data.n_particles) == (3, 8, 10)
    rounds = np.asarray(data.batch_rounds(jax.random.key(3), 30_000))
    np.testing.assert_allclose(np.bincount(rounds, minlength=5)[:3] / 30_000, expected, atol=0.02)
    assert rounds.max() == 2


def test_older_parameters_out_of_reach_are_left_out_of_a_training():
    z = jnp.linspace(-1.0, 1.0, 10)[:, None]
    x, ok = np.ones((10, 4, 2), np.float32), np.ones((10, 4), bool)
    memory = empty_memory(PROBLEM, z, Draws(x, ok), by_kind=False)
    for factor in (8.0, 1.0):  # a broad round, then one that is eight times as narrow
        key = jax.random.key(int(factor))
        memory = memory.with_round(key, PROBLEM, factor * z, Draws(x, ok), window=3)
    standardise = fit_standardise(memory.draws[0].features)
    squash, relevance = Squash(jnp.zeros(2), jnp.ones(2)), np.ones(2)
    # Parameters at 8 / 9, 8 / 3, ...: three deviations of the newest, of which all count, are 1.9.
    for reach, n_near in ((np.inf, 10), (3.0, 2), (0.1, 0)):
        data = memory.training_draws(relevance, squash, standardise, Sizes(3, 1, 8, reach))
        shares = np.diff(data.cumulative, prepend=0)
        np.testing.assert_allclose(shares, [0.5, 0.05 * n_near, 0.0], atol=1e-6)
        n_used = np.all(data.ok, axis=1).reshape(3, 10).sum(axis=1)
        np.testing.assert_array_equal(n_used, [10, n_near, 0])
