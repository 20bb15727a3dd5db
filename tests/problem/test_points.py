import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.points import observed_points, points, with_extras
from pliant.problem.sets import simulate_sets

PRIOR = {"mu": dist.Normal(0, 1)}


def test_without_conditions_and_gaps_a_point_is_the_draw():
    problem = pliant.Problem(PRIOR, lambda key, theta: jnp.zeros((2, 3)), np.ones((4, 2, 3)))
    np.testing.assert_array_equal(observed_points(problem), np.ones((4, 2, 3)))
    np.testing.assert_array_equal(with_extras(problem, np.ones(6)), np.ones(6))


def test_a_point_has_its_condition_and_its_gaps():
    x = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    problem = pliant.Problem(
        PRIOR,
        lambda key, theta, c: theta["mu"] + c + jnp.zeros(2),
        x,
        conditions=[0.0, 1.0, 2.0],
        missing=True,
    )
    found = np.asarray(observed_points(problem))
    np.testing.assert_allclose(found[:, :2], [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_allclose(found[:, 2], np.array([-1, 0, 1]) * 1.5**0.5, rtol=1e-6)
    np.testing.assert_allclose(found[:, 3] * 3, [1, 0, 1])  # only the second number has gaps
    np.testing.assert_array_equal(with_extras(problem, np.array([2.0, 2.0])), [2, 2, 1, 1])

    draws = simulate_sets(jax.random.key(0), problem, jnp.zeros((2, 1)), 3)
    np.testing.assert_array_equal(draws.under, [[0, 1, 2]] * 2)
    mu = draws.x[0, 0, 0]
    np.testing.assert_allclose(draws.x[0], [[mu, mu], [mu + 1, 4], [mu + 2, mu + 2]])
    same = points(problem, draws.x, draws.under, draws.seen)
    np.testing.assert_allclose(same[..., 2:], np.stack([found[:, 2:]] * 2), rtol=1e-6)


def test_a_simulator_that_leaves_numbers_out_by_itself_is_noticed():
    """Its draws would be dropped as failures, and the posterior would be biased."""

    def late(key, theta):
        x = theta["mu"] + jax.random.normal(key, (2,))
        return jnp.where(x > 1, jnp.nan, x)

    observed = np.array([[0.1, np.nan], [0.3, 0.2]])
    problem = pliant.Problem(PRIOR, late, observed, missing=True)
    with pytest.warns(UserWarning, match='say missing="simulated"'):
        simulate_sets(jax.random.key(0), problem, jnp.zeros((5, 1)), 20)
    said = pliant.Problem(PRIOR, late, observed, missing="simulated")
    draws = simulate_sets(jax.random.key(0), said, jnp.zeros((5, 1)), 20)
    assert np.all(draws.ok)


def test_what_only_the_simulator_leaves_out_is_seen_too():
    """No observation is late, and that itself tells of the parameters."""

    def late(key, theta):
        x = theta["mu"] + jax.random.normal(key)
        return jnp.where(x > 0, jnp.nan, x)

    problem = pliant.Problem(PRIOR, late, np.array([-0.1, -0.3]), missing="simulated")
    np.testing.assert_allclose(observed_points(problem)[:, 1] * 3, 1)
    draws = simulate_sets(jax.random.key(0), problem, jnp.zeros((3, 1)), 20)
    bits = points(problem, draws.x, draws.under, draws.seen)[..., 1]
    np.testing.assert_allclose(bits * 3, draws.seen)
    assert 0 < draws.seen.mean() < 1
