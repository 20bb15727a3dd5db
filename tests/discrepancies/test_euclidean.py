import jax
import jax.numpy as jnp
import numpy as np

from pliant.discrepancies.euclidean import Euclidean

KEY = jax.random.key(0)


def test_one_draw_and_one_observation_give_the_squared_error():
    x = jnp.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    discrepancy = Euclidean()
    state = discrepancy.prepare(jnp.array([[1.0, 1.0]]))
    distances, _ = discrepancy.measure(state, x, jnp.ones((2, 1), bool))
    np.testing.assert_array_equal(distances, [1.0, 13.0])


def test_larger_sets_give_the_squared_error_of_the_means():
    rng = np.random.default_rng(0)
    x, observed = rng.normal(size=(3, 8, 2)), rng.normal(size=(5, 2))
    ok = rng.random((3, 8)) < 0.7
    discrepancy = Euclidean()
    distances, _ = discrepancy.measure(
        discrepancy.prepare(jnp.asarray(observed)), jnp.asarray(x), jnp.asarray(ok)
    )
    expected = [
        np.square(s[o].mean(0) - observed.mean(0)).sum() for s, o in zip(x, ok, strict=True)
    ]
    np.testing.assert_allclose(distances, expected, rtol=1e-5)  # float32 means
