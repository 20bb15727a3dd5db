"""The bandwidths and weights of SMC samplers, against the paper's formulas."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.methods.abc.sequence import AbstractSMC, reweighed, shrunk

SMOOTH = [pliant.ExponentialKernel(), pliant.GaussianKernel(), pliant.EpanechnikovKernel()]


def brute_force_ess(weights):
    return sum(weights) ** 2 / sum(w**2 for w in weights)


def test_a_class_that_is_not_finished_cannot_be_instantiated():
    unfinished: Any = AbstractSMC
    with pytest.raises(TypeError, match=r"abstract.*move.*remedy.*weight_kernel"):
        unfinished()


def test_uniform_bandwidth_is_the_smallest_that_keeps_enough(population):
    """Against every candidate in turn, with the paper's w_t = w_{t-1} 1{D <= h_t}."""
    weights = 1.0 * population.alive  # equal ones, as this kernel leaves them
    log_weights = np.where(population.alive, 0.0, -np.inf)
    population = dataclasses.replace(population, log_weights=log_weights)
    wanted = 0.5 * brute_force_ess(weights)
    candidates = sorted(population.distance[population.alive])
    expected = next(
        h for h in candidates if brute_force_ess(weights * (population.distance <= h)) >= wanted
    )
    after = shrunk(population, pliant.UniformKernel(), alpha=0.5, tolerance=None)
    assert after.bandwidth == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(
        np.exp(after.log_weights), weights * (population.distance <= expected)
    )


@pytest.mark.parametrize("kernel", SMOOTH, ids=lambda k: type(k).__name__)
def test_smooth_weights_follow_the_table_of_backward_kernels(population, kernel):
    after = shrunk(population, kernel, alpha=0.7, tolerance=None)
    assert after.bandwidth < population.bandwidth
    k_after, k_before = (
        np.exp(kernel.log_value(population.distance, h))
        for h in (after.bandwidth, population.bandwidth)
    )
    expected = np.exp(population.log_weights) * k_after / k_before
    np.testing.assert_allclose(np.exp(after.log_weights), expected, rtol=1e-10)
    assert after.ess == pytest.approx(0.7 * population.ess, rel=1e-6)


def test_tolerance_bounds_the_bandwidth_and_negative_distances_are_fine(population):
    uniform = pliant.UniformKernel()
    assert shrunk(population, uniform, alpha=0.5, tolerance=9.0).bandwidth == 9.0
    assert shrunk(population, uniform, alpha=0.5, tolerance=11.0).bandwidth == 10.0
    shifted = dataclasses.replace(population, distance=population.distance - 100)
    low, high = (shrunk(p, uniform, alpha=0.5, tolerance=None) for p in (shifted, population))
    assert low.bandwidth == pytest.approx(high.bandwidth - 100)
    smooth = shrunk(shifted, pliant.ExponentialKernel(), alpha=0.5, tolerance=None)
    assert smooth.bandwidth > 0
    assert smooth.ess == pytest.approx(0.5 * population.ess, rel=1e-6)


@pytest.mark.parametrize(
    "kernel", [pliant.UniformKernel(), *SMOOTH], ids=lambda k: type(k).__name__
)
def test_the_dead_stay_dead_and_the_same_bandwidth_changes_nothing(population, kernel):
    far = dataclasses.replace(population, distance=np.append(population.distance[:-1], np.inf))
    far = dataclasses.replace(far, log_weights=np.append(far.log_weights[:-1], -np.inf))
    np.testing.assert_allclose(reweighed(far, kernel, 10.0), far.log_weights, rtol=1e-12)
    assert np.all(reweighed(far, kernel, 20.0)[[3, 11]] == -np.inf)


@pytest.mark.parametrize(
    ("option", "value"),
    [("alpha", 1.0), ("resample_below", 0.0), ("tolerance", -1.0), ("min_acceptance", 0.0)],
)
def test_options_are_checked(option, value):
    with pytest.raises(ValueError, match=option):
        pliant.SMCABC(**{option: value})
