"""The fixed schedule."""

import pytest

from pliant.weighting.kernels import ExponentialKernel
from pliant.weighting.schedules.fixed import Fixed
from pliant.weighting.weights import Tempering, full_tempering


@pytest.mark.parametrize("last", [None, Tempering(power=0.5, bandwidth=2.0, level=0.5)])
def test_fixed_is_the_target(particles, last):
    found = Fixed().step(particles(), ExponentialKernel(), 1e-3, last)
    assert found == full_tempering(1e-3, 1e-3)
    assert (found.power, found.bandwidth, found.level) == (1.0, 1e-3, 1.0)
