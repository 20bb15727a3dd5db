"""The trust region spends what it may, on each of its paths, and maximises the paper's dual."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pliant._importance import divergence_from_uniform
from pliant.weighting.kernels import EpanechnikovKernel, ExponentialKernel, GaussianKernel
from pliant.weighting.schedules.trust_region import TrustRegion
from pliant.weighting.weights import Tempering, full_tempering, log_weights

BETA = 1e-3
KERNEL = ExponentialKernel()


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("spread", [1e-2, 1.0, 1e4])
def test_trust_region_spends_exactly_epsilon(particles, epsilon, spread):
    given = particles(spread=spread)
    tempering = TrustRegion(epsilon).step(given, KERNEL, BETA, None)
    achieved = divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA))
    assert achieved == pytest.approx(epsilon, abs=1e-3)
    eta = tempering.bandwidth / BETA - 1
    assert tempering.power == pytest.approx(1 / (1 + eta))


def test_trust_region_maximises_the_papers_dual(particles):
    """g(eta) = -eta epsilon - (1 + eta) log E[(p L / q)^(1 / (1 + eta))], eq. 10."""
    given, epsilon = particles(), 0.5
    log_ratio = given.log_prior - given.log_q - given.distance / (2 * BETA)

    def minus_dual(log_eta):
        eta = np.exp(log_eta)
        scaled = log_ratio / (1 + eta)
        mean = np.log(np.mean(np.exp(scaled - scaled.max()))) + scaled.max()
        return eta * epsilon + (1 + eta) * mean

    best: Any = minimize_scalar(
        minus_dual, bounds=(0, 15), method="bounded", options={"xatol": 1e-9}
    )
    eta = TrustRegion(epsilon).step(given, KERNEL, BETA, None).bandwidth / BETA - 1
    # the dual is flat at its maximum, so a minimiser finds it to about the root of its precision
    assert eta == pytest.approx(np.exp(best.x), rel=1e-3)


@pytest.mark.parametrize("level", [0.0, 0.01, 0.3, 0.999])
@pytest.mark.parametrize(("is_noisy", "share"), [(True, 0.25), (False, 0.75)])
def test_the_corrected_path_spends_epsilon_and_a_share_of_it_on_the_correction(
    particles, level, is_noisy, share
):
    given, epsilon = dataclasses.replace(particles(), is_noisy=is_noisy), 0.5
    last = Tempering(power=1.0, bandwidth=BETA, level=level)
    tempering = TrustRegion(epsilon, path="corrected").step(given, KERNEL, BETA, last)
    achieved = divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA))
    assert achieved == pytest.approx(epsilon, abs=1e-3)
    assert level < tempering.level <= 1
    # the weights are (p L^level / q)^c L^step
    step = tempering.level - level
    assert BETA / tempering.bandwidth == pytest.approx(tempering.power * level + step)
    if level > 0:
        likelihood = -given.distance / (2 * BETA)
        correction = tempering.power * (given.log_prior - given.log_q + level * likelihood)
        assert divergence_from_uniform(correction) == pytest.approx(share * epsilon, abs=1e-3)


def test_the_corrected_path_ends_at_the_target(particles):
    """At level one and with a proposal that is the target, nothing is left to do."""
    given = particles(spread=1e-3)
    posterior = given.log_prior - given.distance / (2 * BETA)
    given = dataclasses.replace(given, log_q=posterior)
    last = Tempering(power=1.0, bandwidth=BETA, level=1.0)
    tempering = TrustRegion(0.5, path="corrected").step(given, KERNEL, BETA, last)
    assert (tempering.power, tempering.bandwidth, tempering.level) == (1.0, BETA, 1.0)
    assert divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        0, abs=1e-9
    )


def test_the_path_of_the_prior_corrects_in_full(particles):
    """Its weights are p L^level / q, whatever the last level was."""
    given, epsilon = particles(), 2.0
    achieved = []
    for last in (None, Tempering(power=1.0, bandwidth=BETA, level=0.9)):
        tempering = TrustRegion(epsilon, path="prior").step(given, KERNEL, BETA, last)
        assert tempering.power == 1
        assert tempering.level == pytest.approx(BETA / tempering.bandwidth)
        achieved.append(divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)))
    assert achieved == pytest.approx([epsilon, epsilon], abs=1e-3)


def test_trust_region_is_inactive_where_the_full_step_is_short(particles):
    given = particles(spread=1e-6)
    given = dataclasses.replace(given, log_q=given.log_prior)
    tempering = TrustRegion(0.5).step(given, KERNEL, BETA, None)
    assert tempering == full_tempering(BETA, BETA)


def test_unusable_particles_get_no_weight(particles):
    given = particles(unusable=100)
    tempering = TrustRegion(0.5).step(given, KERNEL, BETA, None)
    assert np.all(log_weights(given, KERNEL, tempering, BETA)[:100] == -np.inf)
    assert divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        0.5, abs=1e-3
    )


@pytest.mark.parametrize("kernel", [GaussianKernel(), EpanechnikovKernel()])
def test_it_holds_for_kernels_that_change_smoothly(particles, kernel):
    given = particles()
    given = dataclasses.replace(given, log_q=given.log_prior)
    tempering = TrustRegion(0.5).step(given, kernel, BETA, None)
    achieved = divergence_from_uniform(log_weights(given, kernel, tempering, BETA))
    assert achieved == pytest.approx(0.5, abs=1e-3)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("option", "value"), [("epsilon", 0), ("epsilon", np.nan), ("path", "straight")]
)
def test_wrong_options_are_named(option, value):
    with pytest.raises(ValueError, match=option):
        TrustRegion(**{option: value})
