import jax
import numpy as np
import pytest
from scipy import stats

from pliant.tasks.ornstein_uhlenbeck import OrnsteinUhlenbeckTask

TASK = OrnsteinUhlenbeckTask(points=12)


def exact_gaussian(mean, rate, volatility, points):
    """Mean and covariance of a series that starts at zero."""
    t = 0.2 * np.arange(1, points + 1)
    gaps, sums = np.abs(t[:, None] - t[None]), t[:, None] + t[None]
    covariance = volatility**2 / (2 * rate) * (np.exp(-rate * gaps) - np.exp(-rate * sums))
    return mean * (1 - np.exp(-rate * t)), covariance


def test_simulations_have_the_exact_moments():
    keys = jax.random.split(jax.random.key(0), 50_000)
    x = np.asarray(jax.vmap(lambda key: TASK.simulator(key, TASK.truth))(keys), float)
    mean, covariance = exact_gaussian(1.0, 0.8, 0.5, 12)
    error = (x.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / len(x))
    assert np.max(np.abs(error)) < 4.5
    np.testing.assert_allclose(np.cov(x.T), covariance, atol=0.02 * covariance.max())


def test_the_reference_agrees_with_importance_sampling():
    x = np.asarray(TASK.observed(3, seed=1), float)
    z = np.random.default_rng(0).standard_normal((20_000, 3))
    theta = np.stack([2 * z[:, 0], np.exp(0.7 * z[:, 1]), np.exp(-0.5 + 0.7 * z[:, 2])])
    log_w = np.array(
        [stats.multivariate_normal(*exact_gaussian(*t, 12)).logpdf(x).sum() for t in theta.T]
    )
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    found = TASK.posterior_samples(x, seed=0, n=10_000)
    for name, values in zip(("mean", "rate", "volatility"), theta, strict=True):
        mean = w @ values
        deviation = (w @ (values - mean) ** 2) ** 0.5
        assert abs(found[name].mean() - mean) < 0.25 * deviation, name
        assert abs(found[name].std() / deviation - 1) < 0.25, name


def test_points_are_an_option():
    assert TASK.observed(2).shape == (2, 12)
    assert OrnsteinUhlenbeckTask().observed(2).shape == (2, 50)
    with pytest.raises(ValueError, match="points: expected an integer of at least 2"):
        OrnsteinUhlenbeckTask(points=1)
