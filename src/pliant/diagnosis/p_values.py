"""P-values from replicated sets: of one number, of many numbers together, and of rare values."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from pliant._importance import fit_tail

LIMIT = 0.01
"""Of the p-value of a check: about one in a hundred sound posteriors is doubted by it."""

_TAIL = 0.1  # share of a sample whose tail is fitted
_FEWEST = 20  # values in a tail that is fitted


def deviations(
    observed: Float[np.ndarray, " S"], replicated: Float[np.ndarray, "R S"]
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, "R S"]]:
    """Statistics in standard deviations from the mean of the replicated ones.

    A statistic that is not finite, or the same in all replicated sets, has the deviation zero; if
    the observed one then differs, it is infinite.
    """
    with np.errstate(invalid="ignore"):
        usable = np.all(np.isfinite(replicated), axis=0)
        filled = np.where(usable[None], replicated, 0.0)
        mean, spread = filled.mean(axis=0), filled.std(axis=0)
        constant = spread <= 1e-9 * np.maximum(np.abs(mean), 1e-30)
        scale = np.where(constant, 1.0, spread)
        own = (observed - mean) / scale
        own = np.where(constant, np.where(np.abs(own) > 1e-6, np.inf, 0.0), own)
        own = np.where(usable & ~np.isnan(observed), own, 0.0)
    return own, np.where((usable & ~constant)[None], (filled - mean) / scale, 0.0)


def joint_p_value(
    observed: Float[np.ndarray, " S"],
    replicated: Float[np.ndarray, "R S"],
    *,
    upper: Sequence[int] = (),
) -> tuple[float, Float[np.ndarray, " S"]]:
    """Whether any of S statistics of the observed set is unlike those of R replicated sets.

    The largest deviation of the observed set is compared with the largest ones of the replicated
    sets. So the p-value holds for all statistics together, however they depend on each other.

    Args:
        observed: Statistics of the observed set.
        replicated: Those of simulated sets.
        upper: Statistics of which only large values are unlike the others, such as distances.

    Returns:
        The p-value, at least ``1 / (R + 1)``, and the deviation of each statistic.
    """
    together = np.concatenate([observed[None], replicated])
    _, sizes = deviations(observed, together)  # by all sets alike: the observed one is one of them
    sizes = np.where(np.isin(np.arange(len(observed)), upper), sizes, np.abs(sizes))
    largest = np.max(sizes, axis=1)
    p = float((1 + np.sum(largest[1:] >= largest[0])) / len(largest))
    return p, deviations(observed, replicated)[0]


def tail_probabilities(
    sample: Float[np.ndarray, " n"], values: Float[np.ndarray, "*batch"]
) -> Float[np.ndarray, "*batch"]:
    """How likely a draw is to be at least as large as each value.

    The share of the sample that is, and beyond its largest tenth the tail of a generalised
    Pareto distribution that is fitted to it. A bounded tail is replaced by an exponential one: a
    value beyond every bound is unlikely, and not impossible.
    """
    ordered = np.sort(np.asarray(sample, np.float64))
    n = len(ordered)
    values = np.asarray(values, np.float64)
    above = n - np.searchsorted(ordered, values, side="left")
    p = (above + 1) / (n + 1)
    start = int(np.ceil(n * (1 - _TAIL)))
    excess = ordered[start:] - ordered[start - 1] if start else ordered
    excess = excess[excess > 0]
    if len(excess) < _FEWEST:
        return p
    shape, scale = fit_tail(excess)
    shape, scale = (shape, scale) if shape > 0 else (0.0, float(excess.mean()))
    beyond = np.maximum(values - ordered[start - 1], 0.0)
    if shape < 1e-6:
        survival = np.exp(-beyond / scale)
    else:
        survival = (1 + shape * beyond / scale) ** (-1 / shape)
    return np.where(values > ordered[start - 1], np.minimum(len(excess) / n * survival, 1.0), p)


def adjusted(p: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """P-values for N questions at once (Holm): below 0.01 by chance in one of a hundred sets."""
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    out = np.empty(len(p))
    out[order] = np.minimum(raised, 1.0)
    return out
