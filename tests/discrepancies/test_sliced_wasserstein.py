import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein, merged_steps, sort_columns

KEY = jax.random.key(0)


def plain_distance(x, y):
    """One-dimensional W2^2 in float64: both sets repeated to a common number of values."""
    size = np.lcm(len(x), len(y))
    x, y = np.sort(np.asarray(x, float)), np.sort(np.asarray(y, float))
    return np.square(np.repeat(x, size // len(x)) - np.repeat(y, size // len(y))).mean()


@pytest.mark.parametrize(("M", "N"), [(20, 20), (12, 30), (31, 7), (1, 5)])
def test_against_repeated_values(M, N):
    rng = np.random.default_rng(0)
    x = jnp.asarray(2 * rng.normal(size=(4, M, 3)) + 5, jnp.float32)
    observed = jnp.asarray(rng.normal(size=(N, 3)) + 5, jnp.float32)
    ok = rng.random((4, M)) < 0.7
    ok[:, 0] = True
    discrepancy = SlicedWasserstein(n_projections=15)
    state = discrepancy.prepare(observed)
    distances, _ = discrepancy.measure(state, x, jnp.asarray(ok))
    directions = np.asarray(state.directions, float)
    expected = [
        np.mean([plain_distance(s[o] @ w, np.asarray(observed, float) @ w) for w in directions.T])
        for s, o in zip(np.asarray(x, float), ok, strict=True)
    ]
    np.testing.assert_allclose(distances, expected, rtol=1e-5)  # float32 projections


def test_directions_are_unit_vectors_of_the_seed():
    observed = jnp.zeros((2, 4))
    directions = SlicedWasserstein(n_projections=2000, seed=1).prepare(observed).directions
    np.testing.assert_allclose(jnp.linalg.norm(directions, axis=0), 1, rtol=1e-6)
    # Uniform directions have the covariance I / 4; of 2000, entries err by about 0.01.
    np.testing.assert_allclose(directions @ directions.T / 2000, np.eye(4) / 4, atol=0.03)
    again = SlicedWasserstein(n_projections=2000, seed=1).prepare(observed).directions
    other = SlicedWasserstein(n_projections=2000, seed=2).prepare(observed).directions
    assert (again == directions).all()
    assert not (other == directions).any()


def test_one_feature_is_the_exact_distance():
    rng = np.random.default_rng(1)
    x, observed = rng.normal(size=(1, 9, 1)), rng.normal(size=(6, 1))
    discrepancy = SlicedWasserstein(n_projections=1)
    state = discrepancy.prepare(jnp.asarray(observed, jnp.float32))
    ok = jnp.ones((1, 9), bool)
    distances, _ = discrepancy.measure(state, jnp.asarray(x, jnp.float32), ok)
    np.testing.assert_allclose(distances[0], plain_distance(x[0, :, 0], observed[:, 0]), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 21])
def test_columns_are_sorted(n):
    values = jax.random.normal(KEY, (n, 5)).at[0, 0].set(jnp.inf)
    np.testing.assert_array_equal(jax.jit(sort_columns)(values), np.sort(values, axis=0))


def test_steps_cover_the_unit_interval_once():
    i, j, width = (np.asarray(a) for a in merged_steps(jnp.asarray(4), 7, 6))
    assert (len(i), i.max(), j.max()) == (13, 3, 5)
    for index, size in ((i, 4), (j, 6)):
        # widths in float32
        np.testing.assert_allclose(np.bincount(index, width), 1 / size, rtol=1e-6)


def test_sets_too_large_to_count_levels_are_an_error():
    discrepancy = SlicedWasserstein(n_projections=1)
    state = discrepancy.prepare(jnp.zeros((2**12, 1)))
    x, ok = jax.ShapeDtypeStruct((1, 2**19, 1), float), jax.ShapeDtypeStruct((1, 2**19), bool)
    with pytest.raises(ValueError, match=r"x: expected M \* N below"):
        jax.eval_shape(lambda x, ok: discrepancy.measure(state, x, ok), x, ok)
