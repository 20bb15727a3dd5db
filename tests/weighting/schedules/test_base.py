"""What holds for every schedule: a new class costs one line in the table."""

from typing import Any

import numpy as np
import pytest

from pliant.weighting.kernels import ExponentialKernel
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.schedules.ess import EffectiveSampleSize
from pliant.weighting.schedules.fixed import Fixed
from pliant.weighting.schedules.quantile import Quantile
from pliant.weighting.schedules.trust_region import TrustRegion
from pliant.weighting.weights import Tempering, log_weights

SCHEDULES = {
    "fixed": Fixed(),
    "quantile": Quantile(0.3),
    "ess": EffectiveSampleSize(0.5),
    "paper": TrustRegion(0.5, path="paper"),
    "corrected": TrustRegion(0.5, path="corrected"),
    "prior": TrustRegion(4.0, path="prior"),
}
BETA = 1e-3
KERNEL = ExponentialKernel()
LAST = Tempering(power=0.8, bandwidth=0.5, level=0.3)


@pytest.fixture(params=SCHEDULES)
def schedule(request):
    return SCHEDULES[request.param]


def test_a_class_that_is_not_finished_cannot_be_instantiated():
    unfinished: Any = AbstractSchedule
    with pytest.raises(TypeError, match=r"abstract.*step"):
        unfinished()


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("last", [None, LAST], ids=["first", "later"])
def test_the_bandwidth_stays_above_the_target_and_the_level_below_one(
    particles, schedule, spread, last
):
    tempering = schedule.step(particles(spread=spread, unusable=10), KERNEL, BETA, last)
    assert tempering.bandwidth >= BETA * (1 - 1e-12)
    assert 0 < tempering.power <= 1
    assert 0 < tempering.level <= 1


def test_particles_without_a_distance_change_nothing_but_their_number(particles, schedule):
    given = particles(unusable=100)
    tempering = schedule.step(given, KERNEL, BETA, None)
    log_w = log_weights(given, KERNEL, tempering, BETA)
    assert np.all(log_w[:100] == -np.inf)
    assert np.all(np.isfinite(log_w[100:]))


@pytest.mark.parametrize("name", ["fixed", "quantile", "ess", "prior"])
def test_rules_with_full_weights_know_how_much_they_have_taken_in(particles, name):
    tempering = SCHEDULES[name].step(particles(spread=10.0), KERNEL, BETA, LAST)
    assert tempering.power == 1
    assert tempering.level == pytest.approx(BETA / tempering.bandwidth)
