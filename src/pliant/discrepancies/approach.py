"""The first rounds of a learned discrepancy: sets are compared, and nothing is learned yet."""

import dataclasses

import equinox as eqx
import numpy as np
from jaxtyping import Array, Key

from pliant.discrepancies.base import Proposal, RoundOptions
from pliant.discrepancies.measured import (
    AbstractMeasuredDiscrepancy,
    MeasuredState,
    Measurement,
    measure_sets,
)
from pliant.problem.problem import Problem
from pliant.problem.sets import Draws

_MOST_NOISE = 0.5  # of the variance of distances, for an approach to go on
_MOST_ROUNDS = 6
_DRAWS = 20  # of each parameter, which do for a rough comparison
_KEPT = 50  # of each parameter, at least, to learn from


class Approach(eqx.Module):
    """Compares sets of few draws with the observed one, which is quick and model-free.

    It contracts the proposal, with all modes of the posterior in it, until noise dominates. The
    draws of these rounds are what is learned from later.
    """

    measured: MeasuredState
    beta: float
    """The target bandwidth, which is seldom reached."""
    rounds: int = 0
    """How many were made."""

    def measure(
        self,
        problem: Problem,
        draws: Draws,
        options: RoundOptions,
    ) -> Measurement:
        """The distances of a round's sets, by their first draws."""
        some = min(options.n_draws, _DRAWS)
        return measure_sets(
            problem, self.measured, draws.first(some), options._replace(n_draws=some)
        )

    def after(self, proposal: Proposal, row: dict[str, float | int]) -> "Approach | None":
        """What the next round compares sets by; None if it should learn instead."""
        noisy = not row.get("noise_share", np.inf) < _MOST_NOISE
        if noisy or proposal.level == 1 or self.rounds + 1 >= _MOST_ROUNDS:
            return None
        return dataclasses.replace(self, rounds=self.rounds + 1)


def begun(
    key: Key[Array, ""],
    discrepancy: AbstractMeasuredDiscrepancy | None,
    problem: Problem,
    n_draws: int,
) -> tuple[Approach | None, int]:
    """The approach by a discrepancy, if it can compare sets, and its simulator calls."""
    if discrepancy is None or n_draws < discrepancy.min_draws:
        return None, 0
    measured, simulations = discrepancy.init(key, problem, min(n_draws, _DRAWS))
    return Approach(measured, discrepancy.default_beta(problem.n_obs)), simulations


def kept_draws(n_draws: int) -> int:
    """How many draws of a parameter are kept of rounds that only approach: a divisor of M.

    They are broad, and count as one round together.
    """
    most = max(1, n_draws // _KEPT)
    return n_draws // max(times for times in range(1, most + 1) if n_draws % times == 0)
