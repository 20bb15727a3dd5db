"""Weighted particles as a density: what is resampled, and what is smoothed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import gaussian_kde, multivariate_normal

from pliant.densities.particles import particle_density


@pytest.fixture(scope="module")
def particles():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]) + 3
    log_weights = rng.normal(size=300)
    log_weights[::7] = -np.inf
    return z, log_weights


@pytest.fixture(scope="module")
def density(particles):
    return particle_density(*particles)


def normalised(log_weights):
    weights = np.exp(log_weights)
    return weights / weights.sum()


def test_samples_are_particles_by_their_weights(particles, density):
    z, log_weights = particles
    draws = np.asarray(density.sample(jax.random.key(0), 50_000))
    index = {tuple(row): k for k, row in enumerate(z.astype(np.float32))}
    counts = np.bincount([index[tuple(row)] for row in draws], minlength=300)
    weights = normalised(log_weights)
    assert np.all(counts[weights == 0] == 0)
    errors = (counts - 50_000 * weights) / np.sqrt(50_000 * weights + 1e-9)
    assert np.abs(errors[weights > 0]).max() < 4.5  # the largest of 257 normal errors


def test_log_prob_is_the_weighted_kernel_density(particles, density):
    """Scipy's kernel density has the same factor and, but for shrinkage, the same covariance."""
    z, log_weights = particles
    weights = normalised(log_weights)
    points = np.random.default_rng(1).normal(3, 1, size=(50, 2))
    alive = weights > 0
    expected = gaussian_kde(z[alive].T, weights=weights[alive]).pdf(points.T)
    np.testing.assert_allclose(np.exp(density.log_prob(jnp.asarray(points))), expected, atol=0.01)
    factor = np.asarray(density.smooth.cholesky)
    by_hand = [
        np.log(weights @ [multivariate_normal.pdf(p, centre, factor @ factor.T) for centre in z])
        for p in points[:5]
    ]
    np.testing.assert_allclose(density.log_prob(jnp.asarray(points[:5])), by_hand, atol=1e-4)
    ess = 1 / np.sum(weights**2)
    assert density.ess == pytest.approx(ess, rel=1e-5)


def test_the_density_is_normalised_and_differentiable(density):
    side = np.linspace(-4, 10, 281)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    mass = np.exp(density.log_prob(jnp.asarray(grid, float))).sum() * (side[1] - side[0]) ** 2
    assert mass == pytest.approx(1, abs=1e-3)
    gradient = jax.grad(lambda point: density.log_prob(point[None])[0])(jnp.array([3.0, 3.0]))
    assert np.all(np.isfinite(gradient))


def test_smoothing_widens_by_scotts_factor(density):
    z = np.asarray(density.smooth.sample(jax.random.key(0), 200_000))
    plain = np.asarray(density.sample(jax.random.key(1), 200_000))
    factor = float(density.ess) ** (-1 / 6)
    # the covariance is shrunk towards its diagonal, which leaves the variances alone
    np.testing.assert_allclose(z.std(0) / plain.std(0), (1 + factor**2) ** 0.5, rtol=0.01)


def test_few_or_equal_particles_have_a_density_too():
    for z in (np.zeros((10, 3)), np.random.default_rng(0).normal(size=(10, 20))):
        density = particle_density(z, np.zeros(10))
        assert np.all(np.isfinite(density.log_prob(density.z)))


def test_far_narrow_particles_keep_their_density():
    """Single precision resolves what lies far from zero."""
    z = np.random.default_rng(0).normal(size=(200, 1))
    near = particle_density(z, np.zeros(200))
    far = particle_density(8 + z / 1024, np.zeros(200))
    points = jnp.linspace(-2, 2, 9)[:, None]
    shifted = far.log_prob(8 + points / 1024) - np.log(1024)
    np.testing.assert_allclose(shifted, near.log_prob(points), atol=5e-3)
