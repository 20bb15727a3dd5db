from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks import rejection
from pliant.tasks.slcp import SLCPTask


def simulate(theta, n, seed=0):
    keys = jax.random.split(jax.random.key(seed), n)
    draw = jax.vmap(lambda key: SLCPTask().simulator(key, {"theta": jnp.asarray(theta)}))
    return np.asarray(draw(keys), float)


@pytest.mark.parametrize("theta", [(0.7, 1.5, -1.0, -0.9, 0.6), (-2.0, 2.9, 1.3, -0.5, -1.8)])
def test_simulator_moments(theta):
    x = simulate(theta, 20_000)
    s1, s2, rho = theta[2] ** 2, theta[3] ** 2, np.tanh(theta[4])
    block = np.array([[s1**2, rho * s1 * s2], [rho * s1 * s2, s2**2]])
    scale = np.tile([s1, s2], 4)
    # in units of the deviations: standard errors 1 / sqrt(2e4) = 0.007, and up to 0.01
    mean = (x.mean(axis=0) - np.tile(theta[:2], 4)) / scale
    np.testing.assert_allclose(mean, 0.0, atol=0.035)
    covariance = (np.cov(x.T) - np.kron(np.eye(4), block)) / np.outer(scale, scale)
    np.testing.assert_allclose(covariance, 0.0, atol=0.05)


def log_likelihood(theta, points):
    """Point by point, as the definition has it. ``theta: (n, 5)``, ``points: (P, 2)``."""
    s1, s2, rho = theta[:, 2] ** 2, theta[:, 3] ** 2, np.tanh(theta[:, 4])
    total = -len(points) * (np.log(s1 * s2) + 0.5 * np.log1p(-(rho**2)))
    for x, y in points:
        u, v = (x - theta[:, 0]) / s1, (y - theta[:, 1]) / s2
        total -= (u**2 - 2 * rho * u * v + v**2) / (2 * (1 - rho**2))
    return total


def fold(theta):
    """To the half-space of positive t3 and t4."""
    return np.concatenate([theta[:, :2], np.abs(theta[:, 2:4]), theta[:, 4:]], axis=1)


@pytest.mark.parametrize("n_obs", [1, 10])
def test_reference_matches_importance_sampling(n_obs):
    task, n = SLCPTask(), 20_000
    theta = fold(np.asarray(task.reference(n_obs, 0, n=n)["theta"], float))
    points = np.asarray(task.observed(n_obs, 0), float).reshape(-1, 2)

    # Half from the prior, which finds what the reference may have missed, half near its bulk.
    rng, half = np.random.default_rng(0), 200_000
    near = stats.multivariate_t(theta.mean(axis=0), 2 * np.cov(theta.T), df=3, seed=rng)
    lower, upper = np.array([-3, -3, 0, 0, -3.0]), np.full(5, 3.0)
    draws = np.concatenate([rng.uniform(lower, upper, (half, 5)), near.rvs(half)])
    draws = draws[np.all((lower < draws) & (draws < upper), axis=1)]
    log_q = np.logaddexp(-np.sum(np.log(upper - lower)), near.logpdf(draws))
    log_w = log_likelihood(draws, points) - log_q
    w = np.exp(log_w - special.logsumexp(log_w))
    ess = 1 / np.sum(w**2)
    assert ess > 10_000

    functions = {
        "mean": lambda t: t,
        "square": lambda t: t**2,
        "product": lambda t: t[:, :1] * t[:, 1:],
        "scale product": lambda t: t[:, 2:3] * t[:, 3:],
        "near zero": lambda t: t[:, 2:4] < 0.7,
        "near the edges": lambda t: np.abs(t) > 2.5,
        "spread": lambda t: np.abs(t - theta.mean(axis=0)),
    }
    for name, f in functions.items():
        got, values = f(theta).astype(float), f(draws).astype(float)
        wanted = w @ values
        error = np.sqrt(w**2 @ (values - wanted) ** 2 + got.var(axis=0) / n)
        # about 25 numbers a case: 4.5 standard errors
        np.testing.assert_array_less(
            np.abs(got.mean(axis=0) - wanted), 4.5 * error + 1e-4, err_msg=name
        )


@pytest.mark.parametrize("n_obs", [1, 100])
def test_each_sign_quadrant_holds_a_quarter(n_obs):
    theta = np.asarray(SLCPTask().reference(n_obs, 1)["theta"])
    counts = np.bincount(2 * (theta[:, 2] > 0) + (theta[:, 3] > 0), minlength=4)
    assert stats.chisquare(counts).pvalue > 0.01
    # and the quadrants are alike: two-sample tests of every |t| between t3 > 0 and t3 < 0
    right = theta[:, 2] > 0
    for column in np.abs(theta).T:
        test: Any = stats.ks_2samp(column[right], column[~right])
        assert test.pvalue > 0.002


def test_large_sets_have_the_asymptotic_spread():
    """Inverse Fisher information of P = 4 N points at the truth.

    The variance of a mean is ``s^2 / P``, of ``log s`` (``1 / 2P``), of ``arctanh(rho)`` ``1 / P``;
    ``t = sqrt(s)`` gives ``sd(t3) = t3 / (2 sqrt(2 P))``.
    """
    theta = fold(np.asarray(SLCPTask().reference(1000, 0)["theta"], float))
    wanted = np.array([1.0, 0.81, 1.0 / 8**0.5, 0.9 / 8**0.5, 1.0]) / 4000**0.5
    # 1 % from the sampled spread of 10,000 draws, and a few from the estimate in place of truth
    np.testing.assert_allclose(theta.std(axis=0), wanted, rtol=0.08)
    assert np.all(np.abs(theta.mean(axis=0) - np.abs(SLCPTask().truth["theta"])) < 4 * wanted)


def test_points_on_a_line_are_refused():
    with pytest.raises(ValueError, match="line"):
        SLCPTask().posterior_samples(np.tile([1.0, 2.0], (3, 4)))


def test_impossible_observations_end_in_an_error(monkeypatch):
    monkeypatch.setattr(rejection, "_MOST_PROPOSALS", 100_000)
    with pytest.raises(RuntimeError, match="proposals"):
        SLCPTask().posterior_samples(simulate((2, 2, 1, 1, 0), 100) + 20.0, n=10)
