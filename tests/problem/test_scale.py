"""Squashed features keep their shape near the data, and a moderate size far from them."""

import numpy as np
import pytest

from pliant.problem.scale import better_as_logs, fit_squash


def test_nothing_is_bent_within_ten_spreads_and_all_is_monotone():
    rng = np.random.default_rng(0)
    observed = rng.normal(3.0, 2.0, size=(200, 2))
    squash = fit_squash(observed, rng.normal(size=(50, 2)))
    expected = (observed - observed.mean(axis=0)) / observed.std(axis=0)
    np.testing.assert_allclose(squash(observed), expected, atol=1e-5)
    far = squash(np.array([[1e3], [1e6], [1e9]]) * np.ones(2))
    assert np.all(np.diff(far, axis=0) > 0)
    assert np.all(far < 40)


def test_few_observations_take_the_spread_of_simulations():
    simulated = np.random.default_rng(0).normal(0, 5.0, size=(20_000, 1))
    squash = fit_squash(np.array([[1.0], [1.1]]), simulated)
    np.testing.assert_allclose(squash.spread, 5.0, rtol=0.05)
    np.testing.assert_allclose(squash.centre, 1.05, rtol=1e-6)


def test_a_feature_that_never_varies_is_left_as_it_is():
    squash = fit_squash(np.full((20, 1), 7.0), np.full((30, 1), 7.0))
    np.testing.assert_array_equal(squash(np.array([[7.0], [8.0]])), [[0.0], [1.0]])


LEVELS = np.exp(np.linspace(-2, 4, 300))[:, None]
NOISE = np.random.default_rng(1).normal(size=(300, 20))
KINDS = {  # draws of a level, and whether their logarithms are better
    "log-normal": (LEVELS * np.exp(0.5 * NOISE), True),
    "log-normal, nearly even": (LEVELS * np.exp(0.1 * NOISE), True),
    "gamma": (LEVELS * np.random.default_rng(2).gamma(2.0, size=(300, 20)), True),
    "even noise": (100 + LEVELS + 0.1 * NOISE, False),
    "normal, in proportion": (LEVELS * (1 + 0.2 * np.clip(NOISE, -4, 4)), False),
    "changing sign": (LEVELS + NOISE, False),
    "heavy tails": (np.abs(NOISE) / np.random.default_rng(3).normal(size=(300, 20)), False),
    "with zeros": (np.where(NOISE > 2, 0.0, LEVELS * np.exp(NOISE)), False),
    "deterministic": (LEVELS + 0 * NOISE, False),
}


@pytest.mark.parametrize("name", KINDS)
def test_logarithms_are_taken_where_they_make_noise_even_and_normal(name):
    x, expected = KINDS[name]
    rows, ok = x[..., None], np.ones((*x.shape, 1), bool)
    observed = np.abs(rows[:5, 0]) + 1e-3
    assert better_as_logs(observed, rows, ok).tolist() == [expected]
    assert better_as_logs(-observed, rows, ok).tolist() == [False]


def test_unusable_draws_do_not_count():
    rows = KINDS["log-normal"][0][..., None].copy()
    ok = np.ones(rows.shape, bool)
    rows[:, 0], ok[:, 0] = -1.0, False
    assert better_as_logs(np.ones((1, 1)), rows, ok).tolist() == [True]
    ok[:] = False
    ok[:, 0] = True
    assert better_as_logs(np.ones((1, 1)), rows, ok).tolist() == [False]  # one draw has no spread


def test_a_squash_of_logarithms():
    """Only the first feature is replaced; zero is as good as the smallest number."""
    rng = np.random.default_rng(0)
    observed = np.stack([np.exp(rng.normal(2.0, 0.5, 50)), rng.normal(2.0, 0.5, 50)], axis=1)
    squash = fit_squash(observed, observed, np.array([True, False]))
    plain = fit_squash(np.stack([np.log(observed[:, 0]), observed[:, 1]], axis=1), observed)
    seen = squash(np.array([[np.e, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(seen[0], plain(np.ones((1, 2)))[0], rtol=1e-5)
    assert np.all(np.isfinite(seen))
