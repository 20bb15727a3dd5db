"""Squashed features keep their shape near the data, and a moderate size far from them."""

import numpy as np

from pliant.problem.scale import fit_squash


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
