"""What every method does: start, and make one round."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Key

from pliant.densities.base import AbstractDensity
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.methods.status import Status
from pliant.problem.problem import Problem
from pliant.weighting.final_check import FinalCheck

Rows = tuple[dict[str, Any], ...]
"""The rows of the history so far."""

FEWEST_PARTICLES = 10  # with fewer usable ones there is no density to speak of


class Stop(NamedTuple):
    """Why a run ends: its status, and what happened in this run with what to do about it."""

    status: Status
    message: str


class Outcome(NamedTuple):
    """What one round gives."""

    state: Any
    row: dict[str, float | int]
    """The round's row of the history."""
    simulations: int
    """How often the round called the simulator."""
    stop: Stop | None
    """Set if the run should end here; ``state`` then still holds the last good posterior."""


class AbstractMethod(eqx.Module):
    """An inference method: options in its fields, everything else in the state."""

    rounds: eqx.AbstractVar[int]

    def chosen(self, problem: Problem) -> tuple["AbstractMethod", str]:
        """The method with its own choices for a problem made, and the reason, if there are any."""
        return self, ""

    @abc.abstractmethod
    def resolved(self, problem: Problem) -> "AbstractMethod":
        """The same options, with those that depend on the problem filled in."""

    @abc.abstractmethod
    def simulations_per_round(self, problem: Problem) -> int:
        """How often a round calls the simulator, at most."""

    def within_budget(self, problem: Problem, max_simulations: int) -> "AbstractMethod":
        """The method, with options that were not given fitted to a budget of simulations."""
        return self

    def check_memory(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if a round cannot fit into memory. Nothing is simulated."""

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], problem: Problem) -> tuple[Any, int]:
        """The state before the first round, and the simulator calls that it took.

        Raises:
            TypeError, ValueError: If the options do not fit the problem.
        """

    @abc.abstractmethod
    def step(self, key: Key[Array, ""], problem: Problem, state: Any) -> Outcome:
        """One round. It depends on its arguments alone, so that a run can be resumed."""

    @abc.abstractmethod
    def posterior(self, state: Any) -> AbstractDensity | None:
        """The posterior after the rounds so far, a density of z; None before the first."""

    def shortfall(self, problem: Problem, state: Any, rows: Rows) -> str:
        """How far a run that ends now is from where it should end; empty if it has arrived.

        A run with a shortfall does not end as ``finished``.

        Args:
            problem: The problem.
            state: That of the last round.
            rows: The rows of the history, at least one.
        """
        return ""

    def likelihood(self, problem: Problem, state: Any) -> AbstractLikelihood | None:
        """What was learned of the likelihood, which can be asked again; None if nothing was."""
        return None

    def check(self, key: Key[Array, ""], problem: Problem, state: Any) -> FinalCheck | None:
        """How well the posterior fits what it should be; None if the method cannot tell."""
        return None


def nothing_usable(n_usable: int, n_particles: int) -> Stop:
    """The end of a run whose simulator fails almost everywhere."""
    return Stop(
        Status.FAILED,
        f"Only {n_usable} of {n_particles} parameters gave enough usable simulations. Check where "
        "the simulator returns values that are not finite, and narrow the prior.",
    )
