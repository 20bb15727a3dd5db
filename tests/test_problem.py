"""Every mistake that can be seen before simulating names the argument and the remedy."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from pliant.problem import Problem

PRIOR = {"mu": dist.Normal(0, 1)}
OBSERVED = np.zeros((5, 2))


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))


def test_a_good_problem():
    problem = Problem(PRIOR, simulator, OBSERVED)
    assert (problem.n_obs, problem.event_shape, problem.prior.dim) == (5, (2,), 1)
    assert problem.observed.dtype == jnp.float32


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "simulator: expected a function"),
        (lambda key: jnp.zeros(2), "could not trace"),
        (lambda key, theta: theta["nu"] + jnp.zeros(2), "could not trace.*nu"),
        (lambda key, theta: np.asarray(theta["mu"]) + np.zeros(2), r"jax\.numpy"),
        (lambda key, theta: jnp.zeros(2) if theta["mu"] > 0 else jnp.ones(2), "`if` on values"),
        (lambda key, theta: (jnp.zeros(2), jnp.ones(2)), "one array"),
        (lambda key, theta: theta["mu"] + 1j * jnp.zeros(2), "real numbers"),
    ],
)
def test_simulators_that_cannot_be_used(function, message):
    with pytest.raises(TypeError, match=message):
        Problem(PRIOR, function, OBSERVED)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (np.zeros((5, 3)), r"got \(5, 3\)"),
        (np.zeros(2), r"observed\[None\]"),
        (np.zeros((0, 2)), "at least one"),
        (1.0, "single number"),
        ([[1.0, 2.0], [1.0]], "ragged"),
        ([["a", "b"]], "real numbers"),
        (np.zeros((5, 2), complex), "real numbers"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), "number 1"),
        (np.full((2, 2), 1e300), "single precision"),
    ],
)
def test_observations_that_cannot_be_used(observed, message):
    with pytest.raises((TypeError, ValueError), match=f"observed: .*{message}"):
        Problem(PRIOR, simulator, observed)


@pytest.mark.parametrize("scale", ["robust", [1.0], [1.0, -1.0], [np.nan, 1.0], "pilots", object()])
def test_wrong_scales_are_named(scale):
    with pytest.raises((TypeError, ValueError), match="scale"):
        Problem(PRIOR, simulator, OBSERVED, scale=scale)
