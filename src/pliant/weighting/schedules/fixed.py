"""A bandwidth that does not change."""

from pliant.discrepancies.particles import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.schedules.base import AbstractBandwidth
from pliant.weighting.weights import Temper, full_temper


class Fixed(AbstractBandwidth):
    """The target bandwidth from the first round on: plain importance weights ``p L / q``."""

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Temper | None
    ) -> Temper:
        """Always ``beta``."""
        return full_temper(beta, beta)
