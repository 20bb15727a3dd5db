from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.mmd import MMD
from pliant.problem.scale import robust_spread


def test_pilot_scale_is_the_spread_of_each_feature():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 50, 2, 2)) * np.array([[1e-3, 1.0], [20.0, 1e6]]) + 3
    ok = np.ones((200, 50), bool)
    ok[:100, 0] = False
    x[:100, 0] = np.nan
    x[100:110, 0] = 1e30  # a few wild draws, which a standard deviation would not survive
    scale = robust_spread(jnp.asarray(x, jnp.float32), jnp.asarray(ok))
    # Quantiles of 10,000 normal values err by about 1 %; those of the first feature are also
    # rounded, as 3 +- 0.001 is in float32.
    np.testing.assert_allclose(scale, [1e-3, 1.0, 20.0, 1e6], rtol=0.05)


def test_rare_features_fall_back_to_the_deviation_and_constant_ones_to_one():
    x = np.full((10, 10, 3), 0.1)
    x[0, 0, 1] = 1.1
    scale = robust_spread(jnp.asarray(x, jnp.float32), jnp.ones((10, 10), bool))
    np.testing.assert_allclose(scale, [1, np.sqrt(0.01 * 0.99), 1], rtol=1e-5)  # float32


def test_a_pilot_without_usable_draws_scales_nothing():
    scale = robust_spread(jnp.full((2, 3, 2), jnp.nan), jnp.zeros((2, 3), bool))
    np.testing.assert_array_equal(scale, [1, 1])


def test_with_scale_keeps_the_other_options():
    discrepancy: Any = MMD(lengthscales=(2.0,)).with_scale((1, 2))
    assert discrepancy.lengthscales == (2.0,)
    np.testing.assert_array_equal(discrepancy.scale, [1, 2])


def test_scale_may_be_replaced_inside_jit():
    x = jnp.arange(12.0).reshape(6, 2)

    @eqx.filter_jit
    def points(scale):
        return MMD().with_scale(scale).prepare(x).observed.points

    scale = jnp.array([2.0, 4.0])
    np.testing.assert_array_equal(points(scale), x / scale[None])


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_a_feature_that_is_mostly_zero_has_its_spread_at_any_size(size):
    x = np.where(np.arange(100) % 10 == 0, size, 0).reshape(10, 10, 1)
    scale = robust_spread(jnp.asarray(x, jnp.float32), jnp.ones((10, 10), bool))
    np.testing.assert_allclose(scale, [0.3 * size], rtol=1e-5)  # sqrt(0.1 * 0.9)
