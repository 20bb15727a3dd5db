"""The effective-sample-size schedule meets its fraction, or stays where it is."""

import dataclasses

import numpy as np
import pytest

from pliant._importance import effective_sample_size
from pliant.weighting.kernels import ExponentialKernel
from pliant.weighting.schedules.ess import EffectiveSampleSize
from pliant.weighting.weights import full_tempering, log_weights

BETA = 1e-3
KERNEL = ExponentialKernel()


def test_effective_sample_size_is_met(particles):
    given = particles()
    given = dataclasses.replace(given, log_q=given.log_prior)
    tempering = EffectiveSampleSize(0.5).step(given, KERNEL, BETA, None)
    assert effective_sample_size(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        1000, rel=1e-3
    )
    assert EffectiveSampleSize(0.5).step(given, KERNEL, 1e6, None).bandwidth == 1e6


def test_the_bandwidth_stays_where_no_bandwidth_reaches_the_fraction(particles):
    given = particles()
    given = dataclasses.replace(given, log_q=5 * given.log_q)  # far from the prior
    last = full_tempering(0.7, BETA)
    found = EffectiveSampleSize(0.5).step(given, KERNEL, BETA, last)
    assert found.bandwidth == pytest.approx(0.7)
    assert effective_sample_size(given.log_prior - given.log_q) < 1000


def test_of_reused_rounds_the_effective_number_counts(particles):
    given = particles()
    log_base = np.where(np.arange(2000) < 600, 0.0, -np.inf)
    given = dataclasses.replace(given, log_q=given.log_prior, log_base=log_base)
    tempering = EffectiveSampleSize(0.5).step(given, KERNEL, BETA, None)
    found = effective_sample_size(log_weights(given, KERNEL, tempering, BETA))
    assert found == pytest.approx(300, rel=1e-3)


@pytest.mark.parametrize("fraction", [-0.1, 0, 1])
def test_wrong_options_are_named(fraction):
    with pytest.raises(ValueError, match="fraction"):
        EffectiveSampleSize(fraction)
