"""A bandwidth that does not change."""

from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.weights import Tempering, full_tempering


class Fixed(AbstractSchedule):
    """The target bandwidth from the first round on: plain importance weights ``p L / q``."""

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Tempering | None
    ) -> Tempering:
        """Always ``beta``."""
        return full_tempering(beta, beta)
