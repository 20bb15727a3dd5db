"""The quantile schedule against NumPy's quantiles."""

import numpy as np
import pytest

from pliant.weighting.kernels import ExponentialKernel
from pliant.weighting.schedules.quantile import Quantile
from pliant.weighting.weights import full_tempering

BETA = 1e-3
KERNEL = ExponentialKernel()


def test_quantile_falls_and_never_rises(particles):
    wide, narrow = particles(spread=1.0), particles(spread=0.1)
    rule = Quantile(0.1)
    first = rule.step(wide, KERNEL, BETA, None)
    expected = np.quantile(wide.distance, 0.1) - wide.distance.min()
    assert first.bandwidth == pytest.approx(expected)
    second = rule.step(narrow, KERNEL, BETA, first)
    assert second.bandwidth < first.bandwidth
    assert rule.step(wide, KERNEL, BETA, second).bandwidth == second.bandwidth
    assert rule.step(particles(spread=1e-9), KERNEL, BETA, second).bandwidth == BETA


def test_unusable_distances_do_not_count(particles):
    given = particles(unusable=1500)
    known = given.distance[1500:]
    tempering = Quantile(0.5).step(given, KERNEL, BETA, None)
    assert tempering.bandwidth == pytest.approx(np.median(known) - known.min())
    nothing = particles(n=20, unusable=20)
    last = full_tempering(0.7, BETA)
    assert Quantile(0.5).step(nothing, KERNEL, BETA, last).bandwidth == 0.7


@pytest.mark.parametrize("alpha", [0, 1, np.nan])
def test_wrong_options_are_named(alpha):
    with pytest.raises(ValueError, match="alpha"):
        Quantile(alpha)
