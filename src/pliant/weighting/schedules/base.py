"""What every bandwidth rule does: decide how far one round may go."""

import abc

import equinox as eqx

from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.weights import Tempering


class AbstractSchedule(eqx.Module):
    """A rule for the bandwidth beta_t of round t, on its way down to the target ``beta``."""

    @abc.abstractmethod
    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Tempering | None
    ) -> Tempering:
        """The tempering of this round.

        Args:
            particles: The round's parameters with their distances.
            kernel: What turns distances into pseudo-likelihoods.
            beta: The target bandwidth, at which the pseudo-likelihood is meant.
            last: The tempering of the round before; None in the first.
        """
