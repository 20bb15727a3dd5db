"""The Gaussian's closed forms against NumPy, SciPy and their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import pliant
from pliant.densities.gaussian import gaussian_from_moments, gaussian_kl, weighted_moments

MEAN = np.array([1.0, -2.0])
COVARIANCE = np.array([[2.0, 0.6], [0.6, 0.5]])


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=(500, 3)), rng.gamma(1.0, size=500)
    mean, covariance = weighted_moments(z, np.log(w) + 7.0)  # a constant does not matter
    np.testing.assert_allclose(mean, np.average(z, axis=0, weights=w))
    expected = np.cov(z.T, aweights=w)
    shrunk = 3 * np.sum((w / w.sum()) ** 2)  # dimension over effective sample size
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(np.diag(covariance), np.diag(expected), rtol=1e-9)
    np.testing.assert_allclose(covariance[off], (1 - shrunk) * expected[off], rtol=1e-9)


def test_fewer_samples_than_dimensions_still_give_a_density():
    z = jax.random.normal(jax.random.key(0), (3, 5))
    density, _ = pliant.Gaussian().fit(jax.random.key(1), z, jnp.zeros(3))
    assert np.all(np.isfinite(density.log_prob(z)))


def test_density_and_samples_are_those_of_scipy():
    density = gaussian_from_moments(MEAN, COVARIANCE)
    z = density.sample(jax.random.key(0), 20_000)
    expected = stats.multivariate_normal.logpdf(np.asarray(z), MEAN, COVARIANCE)
    np.testing.assert_allclose(density.log_prob(z), expected, rtol=1e-4, atol=1e-4)
    # four standard errors of 20,000 samples
    np.testing.assert_allclose(np.mean(z, axis=0), MEAN, atol=4 * 2**0.5 / 20_000**0.5)
    np.testing.assert_allclose(
        np.cov(np.asarray(z).T), COVARIANCE, atol=4 * 2 * (2 / 20_000) ** 0.5
    )


def test_kl_is_the_mean_log_ratio():
    q = gaussian_from_moments(MEAN, COVARIANCE)
    p = gaussian_from_moments(np.zeros(2), np.eye(2))
    trace, square, log_det = np.trace(COVARIANCE), MEAN @ MEAN, np.log(np.linalg.det(COVARIANCE))
    np.testing.assert_allclose(gaussian_kl(q, p), 0.5 * (trace + square - 2 - log_det), rtol=1e-5)
    assert abs(float(gaussian_kl(q, q))) < 1e-6
