"""Lengthscales: those that are given, and the median of the data's squared distances."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.lengthscales import as_lengthscales, median_lengthscale


@pytest.mark.parametrize("N", [2, 7, 31])
def test_the_median_is_that_of_all_pairs(N):
    points = np.random.default_rng(0).normal(7.0, 5.0, size=(N, 4)).astype(np.float32)
    squared = [
        np.sum((points[i].astype(float) - points[j]) ** 2) for i in range(N) for j in range(i)
    ]
    # Distances of float32 data, computed in float32.
    assert median_lengthscale(jnp.asarray(points)) == pytest.approx(np.median(squared), rel=1e-5)


def test_the_median_of_many_observations_is_that_of_a_thinned_set():
    observed = jax.random.normal(jax.random.key(0), (2500, 2))
    thinned = median_lengthscale(observed)
    # Half of the squared distances of a plane's normal points are below 4 log 2; of 1250 points,
    # the median errs by a few per cent.
    assert thinned == pytest.approx(4 * np.log(2), rel=0.1)
    assert thinned == median_lengthscale(observed[::2])


def test_the_median_of_one_observation_is_an_error():
    with pytest.raises(ValueError, match=r"lengthscales: 'median' needs at least two"):
        median_lengthscale(jnp.ones((1, 3)))


def test_the_median_of_equal_observations_is_an_error():
    with pytest.raises(ValueError, match=r"lengthscales: 'median' needs observations that differ"):
        median_lengthscale(jnp.ones((5, 3)))
    with pytest.raises(RuntimeError, match=r"lengthscales: 'median' needs observations that"):
        eqx.filter_jit(median_lengthscale)(jnp.ones((5, 3)))


def test_numbers_of_any_kind_become_floats():
    found = as_lengthscales([2, np.float32(0.5), jnp.asarray(4.0)])
    assert found == (2.0, 0.5, 4.0)
    assert {type(value) for value in found} == {float}
    assert as_lengthscales("median") == "median"


@pytest.mark.parametrize(
    ("lengthscales", "error"),
    [
        ((), ValueError),
        ((1.0, 0.0), ValueError),
        ((1.0, 1e30), ValueError),
        ((1.0, "a"), TypeError),
        ("mean", ValueError),
        (1.0, TypeError),
    ],
)
def test_anything_else_is_an_error(lengthscales, error):
    with pytest.raises(error, match="lengthscales"):
        as_lengthscales(lengthscales)
