"""Which discrepancy suits a problem, and why."""

import math
from typing import NamedTuple

from pliant.densities.embeddings import Concatenation
from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.discrepancies.likelihood_kl import LikelihoodKL
from pliant.discrepancies.ratio_kl import RatioKL
from pliant.problem.problem import Problem

_SHORT = 30  # numbers in an observation whose density is learned


class Choice(NamedTuple):
    """A discrepancy, and why it was chosen."""

    discrepancy: AbstractDiscrepancy
    reason: str


def choose_discrepancy(problem: Problem) -> Choice:
    """A learned likelihood for short observations, a learned ratio for long ones."""
    numbers = math.prod(problem.event_shape)
    of = f"an observation has {numbers} number{'' if numbers == 1 else 's'}"
    if numbers <= _SHORT:
        return Choice(LikelihoodKL(), f"LikelihoodKL: {of}, so its likelihood is learned.")
    ratio = RatioKL(embedding=Concatenation(), networks=2, atoms=8)
    return Choice(ratio, f"RatioKL: {of}, so a likelihood ratio is learned from an embedding.")
