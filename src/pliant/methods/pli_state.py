"""What a run of PLI knows after a round."""

import dataclasses

import equinox as eqx

from pliant.densities.base import AbstractDensity
from pliant.discrepancies.base import AbstractDiscrepancy, Proposal
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, LearnedState
from pliant.discrepancies.likelihood import LearnedLikelihood, learned_likelihood
from pliant.problem.problem import Problem
from pliant.weighting.kernels import AbstractKernel, ExponentialKernel
from pliant.weighting.partition import PreparedPartition
from pliant.weighting.reuse import EarlierRound
from pliant.weighting.weights import Tempering

_BROAD = 0.05  # of the log-likelihood


class PLIState(eqx.Module):
    """What a run of PLI knows after a round."""

    discrepancy: eqx.Module
    """The discrepancy's state."""
    partition: PreparedPartition | None
    beta: float
    """The target bandwidth."""
    density: AbstractDensity | None = None
    tempering: Tempering | None = None
    broader: AbstractDensity | None = None
    """The last posterior with less than a twentieth of the log-likelihood. Where the prior is wide
    enough, it is more than four times as wide as that at the target."""
    approaching: bool = False
    """Whether the round only approached the posterior, by rougher distances."""
    noisy: bool = False
    """Whether noise dominated the distances of the round."""
    settled: bool = False
    """Whether the round's proposal was nearly the target already."""
    earlier: tuple[EarlierRound, ...] = ()
    """Rounds whose simulations are used again, the newest first."""

    @property
    def level(self) -> float:
        """How much of the likelihood the posterior contains."""
        return 0.0 if self.tempering is None else self.tempering.level

    @property
    def eta(self) -> float:
        """``bandwidth / beta - 1`` of the round."""
        return float("inf") if self.tempering is None else self.tempering.bandwidth / self.beta - 1

    def moved(
        self, density: AbstractDensity, tempering: Tempering, *, approaching: bool = False
    ) -> "PLIState":
        """With the next posterior on the path to the target."""
        broad = approaching or tempering.level < _BROAD
        return dataclasses.replace(
            self,
            density=density,
            tempering=tempering,
            broader=density if broad else self.broader,
            approaching=approaching,
        )

    def proposal(self, problem: Problem) -> Proposal:
        """What the next round draws from: the last posterior, or the prior."""
        if self.density is None or self.tempering is None:
            return Proposal(problem.prior, level=0.0)
        return Proposal(self.density, self.tempering.level, self.broader)


def likelihood_of(
    discrepancy: AbstractDiscrepancy, kernel: AbstractKernel, problem: Problem, state: PLIState
) -> LearnedLikelihood | None:
    """The likelihood that the networks have learned; None if there are none.

    ``exp(-D / (2 beta))`` is the likelihood to the power ``1 / (2 beta N)``, which other kernels do
    not give.
    """
    learned = state.discrepancy
    if not isinstance(discrepancy, AbstractLearnedDiscrepancy):
        return None
    if not isinstance(learned, LearnedState) or not isinstance(kernel, ExponentialKernel):
        return None
    return learned_likelihood(discrepancy, learned, 0.5 / (state.beta * problem.n_obs))
