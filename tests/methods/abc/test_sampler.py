"""What ABC samplers share: draws of the prior, options, rows and messages."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import kstest, norm

import pliant
from pliant.methods.abc.sampler import (
    AbstractABC,
    log_uniform,
    population_row,
    sequence_shortfall,
    tolerance_reached,
    too_few_accepted,
)


def half(key, theta):
    """Fails wherever the parameter is above zero."""
    return jnp.where(theta["mu"] > 0, jnp.nan, theta["mu"] + jax.random.normal(key))


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem({"mu": dist.Normal(0.5, 2)}, half, jnp.linspace(0, 2, 5), scale=None)


def test_a_class_that_is_not_finished_cannot_be_instantiated():
    unfinished: Any = AbstractABC
    with pytest.raises(TypeError, match=r"abstract.*n_kept.*sets_per_round.*step"):
        unfinished()


def test_a_population_of_the_prior_lives_where_distances_are_known(problem):
    method = pliant.SMCABC(n_particles=60, discrepancy=pliant.Euclidean())
    state, simulations = method.init(jax.random.key(0), problem)
    assert simulations == 0
    population, measurement = method.prior_population(jax.random.key(1), problem, state)
    points = jnp.asarray(population.z, float)
    theta = np.asarray(jax.vmap(problem.prior.space.constrain)(points)["mu"], np.float64)
    np.testing.assert_array_equal(population.log_weights, np.where(theta > 0, -np.inf, 0.0))
    np.testing.assert_array_equal(population.distance, measurement.distance)
    assert population.bandwidth == np.inf
    slope = np.ptp(theta) / np.ptp(population.z)  # theta is linear in z
    expected = norm.logpdf(theta, 0.5, 2) + np.log(slope)
    np.testing.assert_allclose(population.log_prior, expected, rtol=1e-5, atol=1e-5)
    assert measurement.row["usable"] == pytest.approx(np.mean(theta <= 0))


def test_sets_are_as_large_as_the_observed_one_unless_a_size_is_given(problem):
    assert pliant.SMCABC(n_particles=60).resolved(problem).n_draws == 5
    assert pliant.SMCABC(n_particles=60).simulations_per_round(problem) == 300
    assert pliant.SMCABC(n_particles=60, n_draws=3).simulations_per_round(problem) == 180


def test_too_few_kept_particles_are_an_error():
    with pytest.raises(ValueError, match="n_particles: 5 particles would be kept, and 10 are"):
        pliant.PMCABC(n_particles=50, alpha=0.1)


def test_logarithms_of_uniform_draws():
    values = log_uniform(jax.random.key(0), 5000)
    assert np.all(values < 0)
    assert np.all(np.isfinite(values))
    assert kstest(np.exp(values), "uniform").pvalue > 0.01


def history(*bandwidths):
    return tuple({"bandwidth": value} for value in bandwidths)


def test_a_bandwidth_above_its_tolerance_is_a_shortfall(population):
    """The population is at a bandwidth of 10."""
    rows = history(40, 20, 10)
    told = sequence_shortfall(rows, population, 0.5, lowest=None)
    assert told.startswith("The bandwidth is 10 and should be tolerance=0.5")
    assert sequence_shortfall(rows, population, 10.0, lowest=None) == ""
    assert sequence_shortfall(rows, None, 0.5, lowest=None) == ""


@pytest.mark.parametrize("shift", [0.0, -100.0])
def test_a_falling_bandwidth_is_a_shortfall_wherever_its_zero_is(population, shift):
    """An unbiased MMD is negative where it is smallest; one quiet round does not hide the fall."""
    moved = dataclasses.replace(
        population, distance=population.distance + shift, bandwidth=10.0 + shift
    )
    left = 10.0 - population.distance[population.alive].min()
    falling = history(*(10.0 + shift + left * np.array([9, 3, 0.3, 0.2, 0.15, 0, 0])))
    told = sequence_shortfall(falling, moved, None, lowest=None)
    assert f"in the last 3 rounds from {10 + 0.2 * left + shift:.4g} to {10 + shift:.4g}" in told
    assert "by an unknown factor" in told
    still = history(*(10.0 + shift + left * np.array([9, 3, 0.3, 0.05, 0.05, 0, 0])))
    assert sequence_shortfall(still, moved, None, lowest=None) == ""


def test_the_last_quarter_of_many_rounds_counts(population):
    left = 10.0 - population.distance[population.alive].min()
    slow = history(*(10.0 + left * np.linspace(0.8, 0, 41)))  # 0.02 in a round, 0.2 in ten
    assert "in the last 10 rounds" in sequence_shortfall(slow, population, None, lowest=None)
    assert sequence_shortfall(slow[:1], population, None, lowest=None).startswith("One round")


def test_the_scale_of_a_smooth_kernel_falls_to_zero(population):
    rows = history(40, 12, 12, 11.5, 10)
    assert "still falling" in sequence_shortfall(rows, population, None, lowest=0.0)
    rows = history(40, 10.9, 10.5, 10.5, 10)
    assert sequence_shortfall(rows, population, None, lowest=0.0) == ""


def test_rows_and_ends_of_a_run(population):
    row = population_row(population, 0.25)
    ess = np.exp(population.log_weights).sum() ** 2 / np.exp(2 * population.log_weights).sum()
    expected = {"bandwidth": 10.0, "acceptance": 0.25, "ess": pytest.approx(ess), "unique": 11}
    assert row == expected
    assert tolerance_reached(0.12345) == (
        pliant.Status.REACHED_TOLERANCE,
        "The bandwidth has reached the tolerance, 0.123.",
    )
    status, message = too_few_accepted(0.011, 0.015, "Do this.")
    assert status is pliant.Status.LOW_ACCEPTANCE
    assert message.startswith("1.10% of the proposals were accepted, below 1.50%")
    assert message.endswith("Do this.")
