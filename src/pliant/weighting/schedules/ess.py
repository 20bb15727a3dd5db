"""The effective-sample-size rule of SMC-ABC."""

import math

import equinox as eqx
import numpy as np
from scipy.optimize import root_scalar

from pliant._checks import check_real
from pliant._importance import effective_sample_size
from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.weights import Tempering, full_tempering, log_weights


class EffectiveSampleSize(AbstractSchedule):
    """beta_t is the smallest bandwidth that leaves ``fraction * K`` effective particles.

    It never rises, and never falls below the target. The weights are ``p L / q`` in full:
    a proposal that has moved away from them may not reach the fraction at any bandwidth,
    and then the bandwidth stays as it was.

    Args:
        fraction: The share of particles that stays effective, between 0 and 1.
    """

    fraction: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        check_real("fraction", self.fraction, above=0, below=1)

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Tempering | None
    ) -> Tempering:
        """Solve ``ESS(beta_t) = fraction K`` between the target and the last bandwidth.

        Where earlier rounds are reused, K is the effective number of those drawn from the proposal.
        """
        drawn = len(particles.distance)
        if particles.log_base is not None:
            drawn = effective_sample_size(particles.log_base)
        wanted = self.fraction * drawn

        def shortfall(log_bandwidth: float) -> float:
            tempering = full_tempering(math.exp(log_bandwidth), beta)
            return wanted - effective_sample_size(log_weights(particles, kernel, tempering, beta))

        low, high = math.log(beta), self._highest(particles, beta, last)
        if shortfall(low) <= 0 or high <= low:
            return full_tempering(beta, beta)
        if shortfall(high) >= 0:
            return full_tempering(math.exp(high), beta)
        found = root_scalar(shortfall, bracket=(low, high)).root
        return full_tempering(math.exp(found), beta)

    def _highest(self, particles: Particles, beta: float, last: Tempering | None) -> float:
        if last is not None:
            return math.log(last.bandwidth)
        usable = particles.distance[np.isfinite(particles.distance)]
        return math.log(max(beta, 1e3 * float(np.ptp(usable))))
