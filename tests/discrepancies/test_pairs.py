"""Sums of a kernel over pairs, against double loops in double precision."""

import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.pairs import (
    observation_means,
    observed_pairs,
    sums_across,
    sums_within,
    u_statistic,
)

FEATURES = pytest.mark.parametrize("d", [2, 17], ids=["few", "many"])  # the two regimes
OFFSET = 0.25


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def kernel(squared):
    return jnp.exp(-squared / 20)


def plain(a, b):
    return np.exp(-np.sum((a - b) ** 2) / 20)


def points(rng, *shape):
    """In double precision, of values that single precision holds."""
    return rng.normal(size=shape).astype(np.float32).astype(float)


def single(array):
    return jnp.asarray(array, float)


@FEATURES
@pytest.mark.parametrize(("M", "N"), [(1, 1), (3, 8), (11, 5)])
def test_sums_are_those_of_double_loops(rng, M, N, d):
    x, y, w = points(rng, 2, M, d), points(rng, N, d), rng.random((2, M))
    across = [
        sum(w[b, i] * (plain(x[b, i], y[j]) - OFFSET) for i in range(M) for j in range(N))
        for b in range(2)
    ]
    within = [
        sum(
            w[b, i] * w[b, j] * (plain(x[b, i], x[b, j]) - OFFSET)
            for i in range(M)
            for j in range(M)
            if i != j
        )
        for b in range(2)
    ]
    given, offset = (single(x), single(w)), jnp.asarray(OFFSET)
    # Kernel values are at most one, and each of up to 110 terms errs by about 1e-7.
    found = sums_across(kernel, *given, single(y), offset=offset)
    np.testing.assert_allclose(found, across, rtol=0, atol=2e-5)
    found = sums_within(kernel, *given, offset=offset)
    np.testing.assert_allclose(found, within, rtol=0, atol=2e-5)


@FEATURES
def test_the_u_statistic_averages_over_different_usable_draws(rng, d):
    x, y = 3 + points(rng, 4, 7, d), 3 + points(rng, 5, d)
    ok = np.ones((4, 7), bool)
    ok[1, 2:], ok[2, 1:], ok[3, 1::2] = False, False, False  # two, one and four usable draws
    observed = observed_pairs(kernel, single(y))
    broken = np.where(ok[..., None], x, np.nan)
    found = u_statistic(kernel, observed, single(broken), jnp.asarray(ok))
    y_pairs = np.mean([plain(a, b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j])
    for k, distance in enumerate(np.asarray(found)):
        draws = x[k][ok[k]]
        if len(draws) < 2:
            assert distance == np.inf
            continue
        n = range(len(draws))
        x_pairs = np.mean([plain(draws[i], draws[j]) for i in n for j in n if i != j])
        across = np.mean([plain(a, b) for a in draws for b in y])
        assert distance == pytest.approx(
            x_pairs + y_pairs - 2 * across, abs=5e-6
        )  # single precision


@FEATURES
def test_means_of_each_observation_are_over_usable_draws(rng, d):
    x, y, ok = 3 + points(rng, 3, 6, d), 3 + points(rng, 4, d), rng.random((3, 6)) < 0.6
    ok[:, 0] = True
    broken = np.where(ok[..., None], x, np.nan)
    observed = observed_pairs(kernel, single(y))
    found = observation_means(kernel, observed, single(broken), jnp.asarray(ok))
    expected = [[np.mean([plain(a, b) for a in x[k][ok[k]]]) for b in y] for k in range(3)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6)


def test_one_observation_stands_for_its_own_pair(rng):
    observed = observed_pairs(kernel, single(points(rng, 1, 2)))
    assert float(observed.offset + observed.mean) == 1  # k(y, y)
