import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.problem.samples import as_row, as_table, centred_pair, thinned


def test_arrays_by_name_become_columns():
    samples = {"mu": np.arange(2.0), "a": np.arange(12.0).reshape(2, 2, 3)}
    labels, values = as_table(samples)
    assert labels == ["mu", "a[0,0]", "a[0,1]", "a[0,2]", "a[1,0]", "a[1,1]", "a[1,2]"]
    assert values[1].tolist() == [1, 6, 7, 8, 9, 10, 11]


def test_the_order_of_names_is_kept_where_jax_sorts_them():
    theta = {"sigma": jnp.array([2.0]), "mu": jnp.array([[101.0, -99.0]]), "alpha": jnp.array([5])}
    in_jax = jax.tree.map(lambda leaf: leaf, theta)
    labels, values = as_table(in_jax, ("sigma", "mu", "alpha"))
    assert labels == ["sigma", "mu[0]", "mu[1]", "alpha"]
    np.testing.assert_array_equal(values, [[2.0, 101.0, -99.0, 5.0]])
    row = as_row(jax.tree.map(lambda leaf: leaf[0], in_jax), ("sigma", "mu", "alpha"))
    np.testing.assert_array_equal(row, values[0])


def test_a_single_array_is_called_theta():
    labels, values = as_table(np.arange(12.0).reshape(2, 2, 3))
    assert labels[:4] == ["theta[0,0]", "theta[0,1]", "theta[0,2]", "theta[1,0]"]
    np.testing.assert_array_equal(values, np.arange(12.0).reshape(2, 6))
    np.testing.assert_array_equal(as_row(np.arange(3.0)), [0, 1, 2])


@pytest.mark.parametrize(
    "samples",
    [{}, {"a": np.zeros(3), "b": np.zeros(4)}, {"a": np.zeros((0, 2))}, np.float64(1.0)],
)
def test_a_table_needs_samples(samples):
    with pytest.raises(ValueError, match="expected arrays"):
        as_table(samples)


def test_a_pair_is_shifted_by_the_mean_of_the_second():
    x, y = centred_pair([[1.0, 2.0]], np.array([[1.0, 0.0], [3.0, 2.0]], np.float32))
    np.testing.assert_array_equal(x, [[-1.0, 1.0]])
    np.testing.assert_array_equal(y, [[-1.0, -1.0], [1.0, 1.0]])
    assert x.dtype == y.dtype == np.float64


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros(3), np.zeros((3, 1)), r"x: expected the shape \(n, d\)"),
        (np.zeros((3, 1)), np.zeros((1, 1)), "y: expected the shape .* of at least 2"),
        (np.zeros((3, 2)), np.zeros((3, 1)), "y: expected 2 columns"),
        (np.zeros((3, 1)), np.full((3, 1), np.inf), "y: expected finite numbers"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        centred_pair(x, y, at_least=2)


def test_thinning_is_even():
    x = np.arange(10.0)[:, None]
    assert thinned(x, 5).ravel().tolist() == [0, 2, 4, 6, 8]
    assert thinned(x, 10) is x


def test_a_misspelt_name_lists_the_names():
    with pytest.raises(ValueError, match=r"samples: .* \['mu'\], got \['mo'\]\."):
        as_table({"mo": [1.0, 2.0]}, ["mu"])
    with pytest.raises(ValueError, match=r"theta: expected the names \['mu', 's'\], got \['mu'\]"):
        as_row({"mu": 1.0}, ["mu", "s"])
