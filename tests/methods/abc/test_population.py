"""Populations: how they are counted, resampled and perturbed."""

import jax
import numpy as np
import pytest

from pliant.methods.abc.population import Population, perturbed, resampled, walk_cholesky


def test_resampling_keeps_expectations(population):
    weights = np.exp(population.log_weights) / np.exp(population.log_weights).sum()
    counts = np.zeros(12)
    for seed in range(400):
        chosen = resampled(jax.random.key(seed), population)
        assert np.all(chosen.log_weights == 0)
        each = (chosen.z[:, None] == population.z).all(axis=2).sum(axis=0)
        assert np.all((each == np.floor(12 * weights)) | (each == np.ceil(12 * weights)))
        counts += each
    # a count is a floor or a ceiling, so its deviation is at most a half: 0.025 for the mean
    np.testing.assert_allclose(counts / 400, 12 * weights, atol=0.1)


def test_distances_stay_with_their_particles(population):
    chosen = resampled(jax.random.key(0), population)
    for z, distance in zip(chosen.z, chosen.distance, strict=True):
        (index,) = np.flatnonzero((population.z == z).all(axis=1))
        assert distance == population.distance[index]
    assert chosen.bandwidth == population.bandwidth


def test_copies_are_counted(population):
    assert population.unique == 11  # one of the twelve is dead
    copies = resampled(jax.random.key(0), population)
    assert copies.unique == len({tuple(z) for z in copies.z}) < 11
    assert copies.ess == pytest.approx(12)


def test_the_random_walk_has_twice_the_covariance_of_the_living():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20_000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    z[:10] = 1000.0
    log_weights = np.append(np.full(10, -np.inf), np.zeros(19_990))
    given = Population(z, np.zeros(20_000), np.zeros(20_000), log_weights, 1.0)
    expected = 2 * np.cov(z[10:].T)
    factor = walk_cholesky(given)
    # off the diagonal it is shrunk by the dimension over the sample size
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=2e-4)
    steps = np.asarray(perturbed(jax.random.key(1), given), np.float64)[10:] - z[10:]
    # four standard errors of a covariance of 20,000 steps, of numbers up to two
    np.testing.assert_allclose(np.cov(steps.T), expected, atol=4 * 2 * (2 / 20_000) ** 0.5)
