"""Calibrated bandwidths against a distance whose estimate's variance is known."""

import numpy as np
import pytest

from pliant.weighting.calibration import calibrated_bandwidth, modes

pytestmark = pytest.mark.training

N = 50
Y = np.random.default_rng(0).normal(2.0, 3.0, N)
EXACT = Y.var() / N
"""The variance of the mean of resampled observations."""


def draws(beta, n=2000, signs=(1.0,)):
    """Of ``exp(-D / (2 beta))`` with ``D = (s theta - sum_i w_i y_i)^2``, and its influences.

    The minimum is the observations' mean, so that the calibrated bandwidth is ``EXACT``.
    """
    rng = np.random.default_rng(1)
    theta = Y.mean() + beta**0.5 * rng.normal(size=n)
    sign = rng.choice(signs, n)
    return (sign * theta)[:, None], -2 * (theta - Y.mean())[:, None] * Y


@pytest.mark.parametrize("beta", [0.3 * EXACT, EXACT, 3 * EXACT])
def test_the_width_is_that_of_the_resampled_estimate(beta):
    # The variance of 2000 draws is known to sqrt(2 / 2000); five times that.
    z, influences = draws(beta)
    found = calibrated_bandwidth(z, np.zeros(len(z)), influences, beta)
    assert found == pytest.approx(EXACT, rel=0.16)


def test_noise_of_simulated_sets_is_no_movement():
    """Sets whose minima are off by noise e: the posterior is wider by Var(e), its centre's not."""
    rng = np.random.default_rng(1)
    beta, noise_variance, n = EXACT / 2, EXACT / 2, 20_000
    wide = 1.5 * (beta + noise_variance) ** 0.5  # a proposal that is wider than the posterior
    theta = Y.mean() + wide * rng.normal(size=n)
    off = theta + noise_variance**0.5 * rng.normal(size=n) - Y.mean()
    log_weights = -(off**2) / (2 * beta) + (theta - Y.mean()) ** 2 / (2 * wide**2)
    found = calibrated_bandwidth(theta[:, None], log_weights, -2 * off[:, None] * Y, beta)
    # The posterior's variance is beta + Var(e), which is EXACT: nothing is to change.
    assert found == pytest.approx(beta, rel=0.1)


def test_each_mode_counts_by_itself():
    z, influences = draws(0.05, signs=(-1.0, 1.0))  # the modes are 2 |mean| apart
    found = calibrated_bandwidth(z, np.zeros(len(z)), influences, 0.05)
    assert found == pytest.approx(EXACT, rel=0.16)


def test_noise_of_the_influences_is_taken_out():
    z, influences = draws(EXACT, n=500)
    noise = 10 * influences.std() * np.random.default_rng(2).normal(size=influences.shape)
    even = np.zeros(len(z))
    found = [calibrated_bandwidth(z, even, influences + shift, EXACT) for shift in (0, noise)]
    # Left in, it would add 100 / 500 of the variance, and its own spread over 50 observations.
    assert found[1] == pytest.approx(found[0], rel=0.4)


def test_too_few_draws_change_nothing():
    z, influences = draws(EXACT, n=8)
    assert calibrated_bandwidth(z, np.zeros(8), influences, 0.7) == 0.7


def test_modes_are_clusters_that_do_not_touch():
    rng = np.random.default_rng(3)
    one = rng.normal(size=(600, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
    assert np.bincount(modes(one)).max() > 0.95 * 600  # a few in a tail may stand alone
    centres = np.array([[8.0, 8], [8, -8], [-8, 8], [-8, -8]])
    labels = rng.integers(4, size=600)
    found = modes(one + centres[labels])
    table = np.array([[np.sum((labels == i) & (found == j)) for j in set(found)] for i in range(4)])
    assert len(set(table.argmax(axis=1))) == 4
    assert table.max(axis=1).sum() > 0.95 * 600
