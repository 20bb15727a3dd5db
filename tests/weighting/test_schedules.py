from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pliant._importance import divergence_from_uniform, effective_sample_size
from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import ExponentialKernel
from pliant.weighting.schedules.ess import EffectiveSampleSize
from pliant.weighting.schedules.fixed import Fixed
from pliant.weighting.schedules.quantile import Quantile
from pliant.weighting.schedules.trust_region import TrustRegion
from pliant.weighting.weights import Tempering, full_tempering, log_weights

BETA = 1e-3
KERNEL = ExponentialKernel()


def particles(seed=0, n=2000, spread=1.0, unusable=0):
    rng = np.random.default_rng(seed)
    distance = spread * rng.chisquare(5, n)
    distance[:unusable] = np.inf
    return Particles(
        z=rng.normal(size=(n, 2)),
        log_prior=rng.normal(size=n),
        log_q=rng.normal(size=n),
        distance=distance,
        log_partition=np.zeros(n),
    )


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("spread", [1e-2, 1.0, 1e4])
def test_trust_region_spends_exactly_epsilon(epsilon, spread):
    given = particles(spread=spread)
    tempering = TrustRegion(epsilon).step(given, KERNEL, BETA, None)
    achieved = divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA))
    assert achieved == pytest.approx(epsilon, abs=1e-3)
    eta = tempering.bandwidth / BETA - 1
    assert tempering.power == pytest.approx(1 / (1 + eta))


def test_trust_region_maximises_the_papers_dual():
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
def test_the_corrected_path_spends_epsilon_and_a_quarter_of_it_on_the_correction(level):
    given, epsilon = particles(), 0.5
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
        assert divergence_from_uniform(correction) == pytest.approx(epsilon / 4, abs=1e-3)


def test_the_corrected_path_ends_at_the_target():
    """At level one and with a proposal that is the target, nothing is left to do."""
    given = particles(spread=1e-3)
    posterior = given.log_prior - given.distance / (2 * BETA)
    given = Particles(given.z, given.log_prior, posterior, given.distance, given.log_partition)
    last = Tempering(power=1.0, bandwidth=BETA, level=1.0)
    tempering = TrustRegion(0.5, path="corrected").step(given, KERNEL, BETA, last)
    assert (tempering.power, tempering.bandwidth, tempering.level) == (1.0, BETA, 1.0)
    assert divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        0, abs=1e-9
    )


def test_the_path_of_the_prior_corrects_in_full():
    """Its weights are p L^level / q, whatever the last level was."""
    given, epsilon = particles(), 2.0
    achieved = []
    for last in (None, Tempering(power=1.0, bandwidth=BETA, level=0.9)):
        tempering = TrustRegion(epsilon, path="prior").step(given, KERNEL, BETA, last)
        assert tempering.power == 1
        assert tempering.level == pytest.approx(BETA / tempering.bandwidth)
        achieved.append(divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)))
    assert achieved == pytest.approx([epsilon, epsilon], abs=1e-3)


@pytest.mark.parametrize("rule", [Quantile(0.3), EffectiveSampleSize(0.5)])
def test_rules_with_full_weights_know_how_much_they_have_taken_in(rule):
    tempering = rule.step(particles(spread=10.0), KERNEL, BETA, None)
    assert tempering.bandwidth > BETA
    assert tempering.level == pytest.approx(BETA / tempering.bandwidth)


def test_trust_region_is_inactive_where_the_full_step_is_short():
    given = particles(spread=1e-6)
    given = Particles(
        given.z, given.log_prior, given.log_prior, given.distance, given.log_partition
    )
    tempering = TrustRegion(0.5).step(given, KERNEL, BETA, None)
    assert tempering == full_tempering(BETA, BETA)


def test_unusable_particles_get_no_weight():
    given = particles(unusable=100)
    tempering = TrustRegion(0.5).step(given, KERNEL, BETA, None)
    assert np.all(log_weights(given, KERNEL, tempering, BETA)[:100] == -np.inf)
    assert divergence_from_uniform(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        0.5, abs=1e-3
    )


def test_fixed_is_the_target():
    assert Fixed().step(particles(), KERNEL, BETA, None) == full_tempering(BETA, BETA)


def test_quantile_falls_and_never_rises():
    wide, narrow = particles(spread=1.0), particles(spread=0.1)
    rule = Quantile(0.1)
    first = rule.step(wide, KERNEL, BETA, None)
    expected = np.quantile(wide.distance, 0.1) - wide.distance.min()
    assert first.bandwidth == pytest.approx(expected)
    second = rule.step(narrow, KERNEL, BETA, first)
    assert second.bandwidth < first.bandwidth
    assert rule.step(wide, KERNEL, BETA, second).bandwidth == second.bandwidth
    assert rule.step(particles(spread=1e-9), KERNEL, BETA, second).bandwidth == BETA


def test_effective_sample_size_is_met():
    given = particles()
    given = Particles(
        given.z, given.log_prior, given.log_prior, given.distance, given.log_partition
    )
    tempering = EffectiveSampleSize(0.5).step(given, KERNEL, BETA, None)
    assert effective_sample_size(log_weights(given, KERNEL, tempering, BETA)) == pytest.approx(
        1000, rel=1e-3
    )
    assert EffectiveSampleSize(0.5).step(given, KERNEL, 1e6, None).bandwidth == 1e6


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TrustRegion(0), "epsilon"),
        (lambda: TrustRegion(np.nan), "epsilon"),
        (lambda: TrustRegion(path="straight"), "path"),
        (lambda: Quantile(1), "alpha"),
        (lambda: EffectiveSampleSize(-0.1), "fraction"),
    ],
)
def test_wrong_options_are_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_weights_are_equation_11():
    given = particles()
    partition = np.linspace(0, 3, 2000)
    given = Particles(given.z, given.log_prior, given.log_q, given.distance, partition)
    eta = 4.0
    tempering = Tempering(power=1 / (1 + eta), bandwidth=(1 + eta) * BETA, level=1.0)
    pseudo = -given.distance / (2 * BETA) - partition
    expected = (given.log_prior - given.log_q + pseudo) / (1 + eta)
    np.testing.assert_allclose(log_weights(given, KERNEL, tempering, BETA), expected, rtol=1e-12)


def test_effective_sample_size_of_equal_and_single_weights():
    assert effective_sample_size(np.zeros(50)) == pytest.approx(50)
    assert effective_sample_size(np.array([0.0, -np.inf, -np.inf])) == 1
    assert effective_sample_size(np.full(3, -np.inf)) == 0
