"""Blocks and ordered sums: the plain result, with bits that no batch changes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.blocks import map_blocks, sum_in_order


def normal(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), float)


@pytest.mark.parametrize("block", [1, 4, 20])
@pytest.mark.parametrize("K", [1, 8, 13])
def test_blocks_give_what_the_function_gives(K, block):
    x, w = normal(K, 3), normal(K)
    shapes = []

    def function(x, w):
        shapes.append((x.shape, w.shape))
        return {"weighted": x * w[:, None], "largest": x.max(axis=1)}

    found = map_blocks(function, x, w, block=block)
    assert set(shapes) == {((block, 3), (block,))}
    np.testing.assert_array_equal(found["weighted"], np.asarray(x) * np.asarray(w)[:, None])
    np.testing.assert_array_equal(found["largest"], np.asarray(x).max(axis=1))


@pytest.mark.default_flags
def test_a_result_does_not_depend_on_the_other_elements():
    x = normal(50, 7)

    @jax.jit
    def norms(x):
        return map_blocks(lambda b: jnp.sqrt(jnp.exp(b).sum(axis=1)), x * 1.1, block=8)

    together = np.asarray(norms(x))
    for part in (slice(0, 1), slice(3, 20), slice(41, 50)):
        np.testing.assert_array_equal(norms(x[part]), together[part])


@pytest.mark.default_flags
@pytest.mark.parametrize("d", [1, 5, 40])
def test_sums_have_the_bits_of_a_loop_from_the_first_to_the_last(d):
    values = normal(9, 6, d)
    one_by_one = np.cumsum(np.asarray(values), axis=-1)[..., -1]
    start = jnp.zeros((9, 6))
    np.testing.assert_array_equal(sum_in_order(start, values), one_by_one)
    for part in (slice(0, 1), slice(2, 9)):
        found = jax.jit(sum_in_order)(start[part], values[part])
        np.testing.assert_array_equal(found, one_by_one[part])
