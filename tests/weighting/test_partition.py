"""The partition function against a loop over its reference sets."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.learned import LearnedState
from pliant.discrepancies.measured import MeasuredState
from pliant.weighting.partition import PartitionFunction

BETA = 0.04
KERNEL = pliant.ExponentialKernel()


@pytest.fixture(scope="module")
def problem():
    """Every draw is (3, -1): so is the centre of the box."""
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: jnp.array([3.0, -1.0]) + 0 * theta["mu"],
        np.zeros((8, 2)),
        scale=None,
    )


def prepared(problem, discrepancy, n_sets):
    state = MeasuredState(discrepancy, discrepancy.prepare(problem.observed))
    return PartitionFunction(n_sets).prepare(jax.random.key(0), problem, state, KERNEL, BETA)


def test_values_are_mean_kernels_over_the_reference_sets(problem):
    partition = prepared(problem, pliant.Euclidean(), 6)
    x = np.random.default_rng(0).normal([3.0, -1.0], 0.5, size=(4, 5, 2)).astype(np.float32)
    ok = np.random.default_rng(1).random((4, 5)) < 0.7
    assert ok.any(axis=1).all()
    expected = []
    for draws, usable in zip(x.astype(np.float64), ok, strict=True):
        errors = draws[usable].mean(axis=0) - np.asarray(partition.states.mean, np.float64)
        kernels = [np.exp(-np.sum(error**2) / (2 * BETA)) for error in errors]
        expected.append(np.log(sum(kernels) / 6))
    found = partition.log_values(jnp.asarray(x), jnp.asarray(ok))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)  # distances over 2 beta


def test_reference_sets_fill_a_box_around_the_simulations(problem):
    """Energy keeps the points themselves: uniform within five square roots of beta."""
    points = np.asarray(prepared(problem, pliant.Energy(), 40).states.points, np.float64)
    assert points.shape == (40, 8, 2)
    offsets = (points - [3.0, -1.0]) / (5 * BETA**0.5)
    assert np.abs(offsets).max() <= 1 + 1e-6
    # 640 uniform numbers: four standard errors of their mean and of their mean square
    assert offsets.mean() == pytest.approx(0, abs=4 * (1 / 3 / 640) ** 0.5)
    assert np.mean(offsets**2) == pytest.approx(1 / 3, abs=4 * (4 / 45 / 640) ** 0.5)


def test_a_learned_likelihood_is_refused(problem):
    state = LearnedState(ensemble=None, broader=None)
    with pytest.raises(ValueError, match="partition: a learned likelihood is normalised"):
        PartitionFunction().prepare(jax.random.key(0), problem, state, KERNEL, BETA)


def test_at_least_one_set_is_needed():
    with pytest.raises(ValueError, match="n_sets"):
        PartitionFunction(0)
