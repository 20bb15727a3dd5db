"""Particles of several rounds as a sample of the newest proposal."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import pliant
from pliant._importance import effective_sample_size, normalise
from pliant.densities.gaussian import GaussianDensity
from pliant.discrepancies.base import Particles
from pliant.weighting.reuse import EarlierRound, pooled


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)}, lambda key, theta: theta["mu"], np.zeros(5), scale=None
    )


def gaussian(mean, sd):
    return GaussianDensity(jnp.array([mean]), jnp.log(jnp.array([sd])), jnp.eye(1))


def earlier(key, density, n=4000):
    z = np.asarray(density.sample(key, n), np.float64)
    zeros = np.zeros(n)
    return EarlierRound(density, Particles(z, zeros, zeros, z[:, 0] ** 2, zeros))


def test_pooled_particles_stand_for_the_newest_proposal(problem):
    keys = jax.random.split(jax.random.key(1), 3)
    densities = [gaussian(1.0, 0.5), gaussian(0.0, 1.0), gaussian(-1.0, 2.0)]
    rounds = [earlier(key, density) for key, density in zip(keys, densities, strict=True)]
    pool = pooled(problem, rounds[0], tuple(rounds[1:]), rounds=5)
    assert len(pool.z) == len(pool.distance) == 5 * 4000  # padded
    weights = normalise(pool.log_base)
    assert not weights[3 * 4000 :].any()
    assert np.exp(pool.log_base).max() <= 3 * (1 + 1e-5)  # q / mean_s q_s
    ess = effective_sample_size(pool.log_base)
    assert 4000 < ess < 3 * 4000  # more than the newest round alone
    mean = weights @ pool.z[:, 0]
    variance = weights @ (pool.z[:, 0] - mean) ** 2
    assert abs(mean - 1.0) < 4 * 0.5 / np.sqrt(ess)
    assert abs(variance / 0.25 - 1) < 4 * np.sqrt(2 / ess)


def test_base_weights_are_the_newest_density_over_the_mean_of_all(problem):
    """The first round was drawn from the prior, of which no copy is kept."""
    newest = earlier(jax.random.key(0), gaussian(1.0, 0.5), n=30)
    first = earlier(jax.random.key(1), problem.prior, n=30)
    first = EarlierRound(None, first.particles)
    pool = pooled(problem, newest, (first,), rounds=2)
    z = np.concatenate([newest.particles.z, first.particles.z])
    np.testing.assert_array_equal(pool.z, z)
    np.testing.assert_array_equal(pool.distance, z[:, 0] ** 2)
    q = norm.pdf(z[:, 0], 1.0, 0.5)
    prior = np.exp(np.asarray(problem.prior.log_prob(jnp.asarray(z, float)), np.float64))
    # densities in single precision: relative errors of 1e-6 in each of their logarithms
    np.testing.assert_allclose(np.exp(pool.log_base), 2 * q / (q + prior), rtol=2e-5)
    np.testing.assert_allclose(pool.log_q, np.log(q), rtol=1e-5, atol=1e-5)


def test_a_round_alone_is_a_sample_already(problem):
    only = earlier(jax.random.key(0), gaussian(1.0, 0.5), n=30)
    pool = pooled(problem, only, (), rounds=1)
    np.testing.assert_allclose(pool.log_base, 0, atol=1e-12)
