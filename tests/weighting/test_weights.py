"""The log-weights of a round against equation 11."""

import dataclasses

import numpy as np
import pytest

from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import ExponentialKernel, UniformKernel
from pliant.weighting.weights import Tempering, contained, full_tempering, log_weights

BETA = 1e-3
KERNEL = ExponentialKernel()


def test_weights_are_equation_11(particles):
    partition = np.linspace(0, 3, 2000)
    given = dataclasses.replace(particles(), log_partition=partition)
    eta = 4.0
    tempering = Tempering(power=1 / (1 + eta), bandwidth=(1 + eta) * BETA, level=1.0)
    pseudo = -given.distance / (2 * BETA) - partition
    expected = (given.log_prior - given.log_q + pseudo) / (1 + eta)
    np.testing.assert_allclose(log_weights(given, KERNEL, tempering, BETA), expected, rtol=1e-12)


def test_power_and_bandwidth_temper_on_their_own(particles):
    given = particles()
    tempering = Tempering(power=0.3, bandwidth=7 * BETA, level=0.5)
    expected = 0.3 * (given.log_prior - given.log_q) - given.distance / (14 * BETA)
    np.testing.assert_allclose(log_weights(given, KERNEL, tempering, BETA), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [KERNEL, UniformKernel()])
def test_particles_without_a_distance_have_no_weight(particles, kernel):
    given = particles(spread=BETA, unusable=100)
    found = log_weights(given, kernel, full_tempering(10 * BETA, BETA), BETA)
    assert np.all(found[:100] == -np.inf)
    assert np.all(np.isfinite(found[100:][given.distance[100:] <= 10 * BETA]))


def test_base_weights_are_added(particles):
    given, log_base = particles(), np.linspace(-2, 2, 2000)
    tempering = full_tempering(3 * BETA, BETA)
    plain = log_weights(given, KERNEL, tempering, BETA)
    based = log_weights(dataclasses.replace(given, log_base=log_base), KERNEL, tempering, BETA)
    np.testing.assert_allclose(based, plain + log_base, rtol=1e-12)


def test_full_weights_take_in_the_target_over_the_bandwidth():
    tempering = full_tempering(4 * BETA, BETA)
    assert (tempering.power, tempering.bandwidth, tempering.level) == (1.0, 4 * BETA, 0.25)


@pytest.mark.parametrize("level", [0.002, 0.1, 0.7, 1.0])
def test_the_contained_level_is_that_of_a_tempered_posterior(level):
    """Prior N(0, 1), and a pseudo-likelihood of precision 30: both Gaussian, so q is known."""
    precision, n = 30.0, 20_000
    beta = 0.5 / precision  # of exp(-D / (2 beta)), with D = z^2 / 2
    z = np.random.default_rng(0).normal(size=(n, 1)) / (1 + level * precision) ** 0.5
    log_q = -0.5 * (1 + level * precision) * z[:, 0] ** 2
    given = Particles(z, -0.5 * z[:, 0] ** 2, log_q, 0.5 * z[:, 0] ** 2, np.zeros(n))
    found = contained(given, KERNEL, beta)
    assert found.power == 1
    assert found.bandwidth == pytest.approx(beta / found.level)
    step = 10 ** (6 / 59)  # of the grid: it finds the level below the true one or that above it
    assert level / step < found.level < level * step
