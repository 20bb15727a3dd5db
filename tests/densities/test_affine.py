"""Moved and stretched densities, against the change of variables."""

import jax
import jax.numpy as jnp
import numpy as np

from known_posteriors import gaussian
from pliant.densities.affine import AffineDensity

BASE = gaussian(jnp.array([1.0, -2.0]), jnp.array([[0.5, 0.0], [0.3, 0.7]]))
MOVED = AffineDensity(BASE, jnp.array([1.0, -2.0]), jnp.array([3.0, 0.0]), jnp.array([2.0, 0.5]))


def test_draws_are_moved_and_stretched_around_the_centre():
    plain = np.asarray(BASE.sample(jax.random.key(0), 1000))
    moved = np.asarray(MOVED.sample(jax.random.key(0), 1000))
    expected = np.array([4.0, -2.0]) + np.array([2.0, 0.5]) * (plain - np.array([1.0, -2.0]))
    np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-5)
    assert MOVED.dim == 2


def test_the_density_is_that_of_the_gaussian_in_closed_form():
    z = MOVED.sample(jax.random.key(1), 50)
    root = jnp.diag(MOVED.stretch) @ jnp.array([[0.5, 0.0], [0.3, 0.7]])
    expected = gaussian(jnp.array([4.0, -2.0]), root).log_prob(z)
    np.testing.assert_allclose(MOVED.log_prob(z), expected, rtol=1e-4, atol=1e-4)
