"""Kernels are checked against their formulas, and against what every kernel promises."""

import numpy as np
import pytest

import pliant

KERNELS = {
    "exponential": (pliant.ExponentialKernel(), lambda d, h: np.exp(-d / (2 * h))),
    "gaussian": (pliant.GaussianKernel(), lambda d, h: np.exp(-(d**2) / (2 * h**2))),
    "uniform": (pliant.UniformKernel(), lambda d, h: 1.0 * (d <= h)),
    "epanechnikov": (pliant.EpanechnikovKernel(), lambda d, h: np.maximum(1 - (d / h) ** 2, 0)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_values_follow_the_formula(name):
    kernel, formula = KERNELS[name]
    distance = np.linspace(0, 3, 50)
    for h in (0.3, 1.0, 10.0):
        np.testing.assert_allclose(np.exp(kernel.log_value(distance, h)), formula(distance, h))


@pytest.mark.parametrize("name", KERNELS)
def test_an_unknown_distance_has_no_weight_and_a_negative_one_has_the_most(name):
    kernel, _ = KERNELS[name]
    values = kernel.log_value(np.array([np.inf, 0.5, 0.0, -0.1]), 0.7)
    assert values[0] == -np.inf
    assert values[1] <= values[2] <= values[3]
    assert np.all(np.isfinite(values[1:]))


@pytest.mark.parametrize("name", KERNELS)
def test_acceptance_begins_at_the_least_bandwidth(name):
    kernel, _ = KERNELS[name]
    rng = np.random.default_rng(0)
    distance, log_u = rng.gamma(2.0, size=200), np.log(rng.uniform(size=200))
    least = kernel.least_bandwidth(distance, log_u)
    assert np.all(np.isfinite(least))
    for each, u, h in zip(distance, log_u, least, strict=True):
        above, below = (kernel.log_value(np.array([each]), h * side) for side in (1.001, 0.999))
        assert below < u <= above
    assert kernel.least_bandwidth(np.array([np.inf]), np.array([-1.0]))[0] == np.inf
    negative = kernel.least_bandwidth(np.array([-0.1]), np.array([-1.0]))[0]
    assert negative == (-0.1 if kernel.signed else 0.0)
