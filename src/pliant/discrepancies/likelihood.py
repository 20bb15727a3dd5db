"""A likelihood of single draws that can be asked again, at any parameter and for any data."""

import abc
import dataclasses

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from pliant.discrepancies.ensemble import Ensemble
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, LearnedState
from pliant.problem.problem import Problem
from pliant.problem.sets import Draws


class AbstractLikelihood(eqx.Module):
    """``log p(x | theta)`` of single draws x, up to a constant of each x."""

    power: eqx.AbstractVar[float]
    """The posterior is the prior times the likelihood of all observations to this power."""

    @abc.abstractmethod
    def log_values(
        self, problem: Problem, draws: Draws, z: Float[Array, "K dim"]
    ) -> Float[np.ndarray, "K n"]:
        """Of n draws, at K parameters, without simulating anything.

        Args:
            problem: The problem, with the conditions that the draws refer to.
            draws: ``(n, *event)``, such as those of ``observed_draws``.
            z: Parameters.
        """


class LearnedLikelihood(AbstractLikelihood):
    """What the networks of a run have learned."""

    discrepancy: AbstractLearnedDiscrepancy
    ensemble: Ensemble
    power: float

    def log_values(
        self, problem: Problem, draws: Draws, z: Float[Array, "K dim"]
    ) -> Float[np.ndarray, "K n"]:
        """The networks' average."""
        some, shares = self.ensemble.counted()
        return self.discrepancy.averaged(self.ensemble.log_values(problem, draws, z, some), shares)


def learned_likelihood(
    discrepancy: AbstractLearnedDiscrepancy, state: LearnedState, power: float
) -> LearnedLikelihood | None:
    """The likelihood after a round, without the draws that it was learned from; None before."""
    ensemble = state.ensemble
    if ensemble is None:
        return None
    if ensemble.summary is not None:
        summary = dataclasses.replace(ensemble.summary, rounds=())
        ensemble = dataclasses.replace(ensemble, summary=summary)
    return LearnedLikelihood(power=power, discrepancy=discrepancy, ensemble=ensemble)
