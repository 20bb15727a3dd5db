"""Options that fit a budget of simulations."""

from pliant.methods.base import AbstractMethod
from pliant.problem import Problem


def within_budget(
    method: AbstractMethod, problem: Problem, max_simulations: int | None
) -> AbstractMethod:
    """The method, with options that it was not given fitted to the budget."""
    return method
