"""Which discrepancy suits a problem, and why."""

import math
from typing import NamedTuple

from pliant.densities.convolutions import ImageEmbedding, SeriesEmbedding
from pliant.densities.embeddings import Concatenation
from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.discrepancies.likelihood_kl import LikelihoodKL
from pliant.discrepancies.ratio_kl import RatioKL
from pliant.problem.problem import Problem

_SHORT = 30  # numbers in an observation whose density is learned
_SIDE = 8  # numbers along both axes of an image, at least
_WINDOW = 6  # rounds whose long observations are kept


class Choice(NamedTuple):
    """A discrepancy, and why it was chosen."""

    discrepancy: AbstractDiscrepancy
    reason: str


def choose_discrepancy(problem: Problem) -> Choice:
    """A learned likelihood of short observations, or of learned statistics of long ones.

    A series is anything with one axis of more than thirty numbers, or two axes of which the second
    is short; an image has two long axes, and perhaps a third for channels.
    """
    event = problem.event_shape
    numbers = math.prod(event)
    of = f"an observation has {numbers} number{'' if numbers == 1 else 's'}"
    if numbers <= _SHORT:
        return Choice(LikelihoodKL(), f"LikelihoodKL: {of}, so its likelihood is learned.")
    if len(event) == 3 or (len(event) == 2 and min(event) >= _SIDE):
        kind, embedding = "images", ImageEmbedding()
    elif len(event) <= 2:
        kind, embedding = "series", SeriesEmbedding()
    else:
        ratio = RatioKL(embedding=Concatenation(), networks=2, atoms=8)
        return Choice(ratio, f"RatioKL: {of}, so a likelihood ratio is learned from an embedding.")
    discrepancy = LikelihoodKL(embedding=embedding, window=_WINDOW)
    reason = f"{of}, so the likelihood of statistics is learned, found by convolutions of {kind}"
    return Choice(discrepancy, f"LikelihoodKL: {reason}.")
