import jax
import jax.numpy as jnp
import numpy as np

from pliant.simulators.jax import JaxSimulator


def simulator(key, theta):
    return theta + jax.random.normal(key, (3,))


def test_draws_depend_on_key_and_index_alone():
    """A part of the parameters, or fewer draws, gives the same numbers."""
    keys = jax.random.split(jax.random.key(0), 10)
    thetas = jnp.arange(10.0)
    whole, ok = JaxSimulator(simulator).simulate(keys, thetas, 7)
    assert whole.shape == (10, 7, 3)
    assert bool(ok.all())
    part, _ = JaxSimulator(simulator).simulate(keys[4:6], thetas[4:6], 5)
    np.testing.assert_array_equal(part, whole[4:6, :5])


def test_draws_are_independent():
    keys = jax.random.split(jax.random.key(1), 200)
    x, _ = JaxSimulator(simulator).simulate(keys, jnp.zeros(200), 50)
    flat = np.asarray(x).reshape(-1)
    # of 2^23 different uniform numbers, some 50 of 30,000 meet by chance
    assert len(np.unique(flat)) > 0.995 * flat.size
    # 30,000 standard normal numbers
    assert abs(flat.mean()) < 5 / np.sqrt(flat.size)
    assert abs(flat.var() - 1) < 5 * np.sqrt(2 / flat.size)


def test_draws_that_are_not_finite_are_masked_and_zero():
    def broken(key, theta):
        return jnp.where(jax.random.bernoulli(key, 0.5), jnp.nan, theta) * jnp.ones(2)

    x, ok = JaxSimulator(broken).simulate(jax.random.split(jax.random.key(0), 3), jnp.ones(3), 20)
    assert 0 < int(ok.sum()) < 60
    np.testing.assert_array_equal(np.asarray(x), np.asarray(ok, np.float32)[..., None] * np.ones(2))


def test_counts_become_floats():
    counts = JaxSimulator(lambda key, theta: jax.random.poisson(key, theta, (4,)))
    x, _ = counts.simulate(jax.random.split(jax.random.key(0), 2), jnp.array([1.0, 5.0]), 3)
    assert x.dtype == jnp.float32
