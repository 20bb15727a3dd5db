"""The alpha-quantile rule of population Monte Carlo ABC."""

import equinox as eqx
import numpy as np

from pliant._checks import check_real
from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.weights import Tempering, full_tempering


class Quantile(AbstractSchedule):
    """beta_t is the alpha-quantile of the round's distances above the smallest one.

    It never rises, and never falls below the target. The weights are ``p L / q`` in full.

    Args:
        alpha: The quantile, between 0 and 1 (the paper's table of ABC settings: 0.1).
    """

    alpha: float = eqx.field(static=True, default=0.1)

    def __check_init__(self):
        check_real("alpha", self.alpha, above=0, below=1)

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Tempering | None
    ) -> Tempering:
        """The quantile of the usable distances, measured from their minimum."""
        usable = particles.distance[np.isfinite(particles.distance)]
        rule = float(np.quantile(usable, self.alpha) - usable.min()) if usable.size else np.inf
        before = np.inf if last is None else last.bandwidth
        return full_tempering(max(beta, min(rule, before)), beta)
