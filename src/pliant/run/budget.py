"""Options of PLI that fit a budget of simulations: a slow simulator is the normal case."""

import dataclasses
import math

from pliant.discrepancies.feature_scale import pilot_simulations
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy
from pliant.methods.base import FEWEST_PARTICLES, AbstractMethod
from pliant.methods.pli import PLI
from pliant.problem.problem import Problem

_LEARNED_ROUNDS = 10  # after which a learned likelihood has mostly settled
_LEARNED_DRAWS = 5  # of each parameter: for learning, other parameters tell more than other draws
_FEWEST_DRAWS = 5
_MANY = 1000  # parameters, from which on more draws of each tell more
_REUSE_UP_TO = 5  # parameters: in more dimensions, fresh noise is worth more than old draws


def within_budget(
    method: AbstractMethod, problem: Problem, max_simulations: int | None
) -> AbstractMethod:
    """The method, with options that it was not given fitted to the budget.

    ``PLI`` alone has such options, and only where its own ``n_particles`` and ``n_draws`` would
    exceed the budget. A trust region of about a nat per round needs about ``5 + 1.5 dim`` rounds.
    Each of them gets the same share: at least 20 particles, and 8 for each dimension, with up to
    N / 2 (or 50) draws, and more only where there are a thousand particles. In up to five
    dimensions all earlier rounds are used again.
    """
    if not isinstance(method, PLI) or max_simulations is None:
        return method
    if method.n_particles is not None and method.n_draws is not None:
        return method
    whole = method.rounds * method.simulations_per_round(problem)
    left = max_simulations - (0 if method.learns else pilot_simulations(problem))
    if whole <= left:
        return method
    if isinstance(method.discrepancy, AbstractLearnedDiscrepancy):
        rounds = min(method.rounds, _LEARNED_ROUNDS)
        n_particles, n_draws = _shares(method, left // rounds, draws=_LEARNED_DRAWS)
        return dataclasses.replace(method, rounds=rounds, n_particles=n_particles, n_draws=n_draws)
    dim = problem.prior.dim
    rounds = min(method.rounds, 5 + math.ceil(1.5 * dim))
    share = left // rounds
    parameters = max(20, 8 * dim)
    most = min(max(problem.n_obs, 100), max(problem.n_obs // 2, 50, share // _MANY))
    draws = max(_FEWEST_DRAWS, method.discrepancy.min_draws, min(most, share // parameters))
    n_particles, n_draws = _shares(method, share, draws=draws)
    reuses = dim <= _REUSE_UP_TO and method.projection == "m" and method.reuse == 0
    reuse = rounds - 1 if reuses else method.reuse
    return dataclasses.replace(
        method, rounds=rounds, n_particles=n_particles, n_draws=n_draws, reuse=reuse
    )


def _shares(method: PLI, share: int, *, draws: int) -> tuple[int, int]:
    """Parameters and draws of a round, whichever of them is not given."""
    if method.n_particles is not None:
        return method.n_particles, max(1, share // method.n_particles)
    n_draws = draws if method.n_draws is None else method.n_draws
    return max(FEWEST_PARTICLES, share // n_draws), n_draws
