"""Random features against the kernel that they make, and against the exact one."""

import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.random_features import RandomFeatureMMD, _waves

LENGTHSCALES = (1.0, 4.0, 20.0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 12, 2)) + RNG.normal(size=(4, 1, 2))
OK = RNG.random((4, 12)) < 0.8
Y = RNG.normal(size=(9, 2))


def measured(discrepancy):
    state = discrepancy.prepare(jnp.asarray(Y, float))
    x, ok = jnp.asarray(np.where(OK[..., None], X, np.nan), float), jnp.asarray(OK)
    distances, _ = discrepancy.measure(state, x, ok)
    return np.asarray(distances), np.asarray(discrepancy.influences(state, x, ok)), state


def kernel(state, x, y):
    """Of all pairs, in double precision."""
    phases = (x[:, None] - y) @ np.asarray(state.frequencies, np.float64)
    return np.cos(phases) @ np.asarray(state.weights, np.float64)


def test_it_is_the_u_statistic_of_its_kernel():
    distances, influences, state = measured(
        RandomFeatureMMD(n_features=50, lengthscales=LENGTHSCALES)
    )
    assert float(state.weights.sum()) == pytest.approx(3)  # one for each lengthscale

    def within(points):
        k = kernel(state, points, points)
        return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))

    for i in range(4):
        x = X[i][OK[i]]
        across = kernel(state, x, Y)
        expected = within(x) + within(Y) - 2 * across.mean()
        assert distances[i] == pytest.approx(expected, abs=2e-6)
        np.testing.assert_allclose(influences[i], -2 * across.mean(axis=0), atol=2e-6)


def test_waves_are_cosines_and_sines():
    phases = np.linspace(-100, 100, 10_001)
    cosine, sine = _waves(jnp.asarray(phases)[:, None], jnp.ones((1, 1)))
    np.testing.assert_allclose(cosine[:, 0], np.cos(phases), atol=1e-5)
    np.testing.assert_allclose(sine[:, 0], np.sin(phases), atol=1e-5)


@pytest.mark.parametrize("lengthscales", [LENGTHSCALES, "median"])
def test_many_features_make_the_exact_kernel(lengthscales):
    distances, _, _ = measured(RandomFeatureMMD(n_features=30_000, lengthscales=lengthscales))
    exact, _, _ = measured(MMD(lengthscales=lengthscales))
    # A kernel value has a standard error of at most sqrt(0.5 / 10,000) for each lengthscale, and a
    # distance is a sum of three means of values with signs that differ.
    np.testing.assert_allclose(distances, exact, atol=0.02)


def test_large_sets_are_compared_by_features():
    mmd = MMD(lengthscales=LENGTHSCALES, scale=(1.0, 2.0))
    assert mmd.for_sizes(100, 100) is mmd
    features = mmd.for_sizes(1000, 1000)
    assert isinstance(features, RandomFeatureMMD)
    assert features.lengthscales == LENGTHSCALES
    np.testing.assert_array_equal(features.scale, mmd.scale)
    exact = MMD(most_partners=None)
    assert exact.for_sizes(10_000, 10_000) is exact


def test_too_few_features_for_the_lengthscales_are_refused():
    with pytest.raises(ValueError, match="n_features: expected at least one for each of the 3"):
        RandomFeatureMMD(n_features=2, lengthscales=LENGTHSCALES)
