"""A bandwidth that does not change."""

from pliant.bandwidths.base import AbstractBandwidth
from pliant.kernels import AbstractKernel
from pliant.particles import Particles
from pliant.weights import Temper, full_temper


class Fixed(AbstractBandwidth):
    """The target bandwidth from the first round on: plain importance weights ``p L / q``."""

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Temper | None
    ) -> Temper:
        """Always ``beta``."""
        return full_temper(beta, beta)
