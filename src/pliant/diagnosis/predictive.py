"""Which features of the observed set the posterior does not reproduce."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level
from pliant.diagnosis.p_values import LIMIT, joint_p_value
from pliant.problem.problem import Problem

_MOST_FEATURES = 30  # of which more than mean and width are looked at
_MOST_PAIRS = 6  # features whose dependence is looked at
_INTERVALS = 0.5, 0.9
_SHOWN = 3

Statistic = Callable[[Any], Any]
"""A function of one set, in the structure of the observations, that returns numbers."""


class Predictive(NamedTuple):
    """Statistics of the observed set beside those of simulated sets."""

    names: tuple[str, ...]
    observed: Float[np.ndarray, " S"]
    low: Float[np.ndarray, " S"]
    """The 2.5 % quantile of the simulated sets."""
    high: Float[np.ndarray, " S"]
    """The 97.5 % quantile."""
    deviation: Float[np.ndarray, " S"]
    """Standard deviations of the observed set from the mean of the simulated ones."""
    p_value: float
    """Of all statistics together."""
    features: tuple[str, ...]
    covered: Float[np.ndarray, "d 2"]
    """The share of the observations within the 50 % and 90 % predictive intervals, per feature."""


def check_predictive(
    evidence: Evidence, statistics: Mapping[str, Statistic]
) -> tuple[Predictive, list[Finding]]:
    """Compare statistics of residuals, and a user's own, with those of simulated sets.

    A residual is how far a number is from the mean of simulated draws, under its own condition,
    in their standard deviations.
    """
    features = feature_names(evidence.problem)
    observed, replicated = evidence.observed, evidence.simulated
    own, others = _residuals(observed, replicated, evidence.problem.is_uniform)
    conditions = evidence.problem.conditions
    rows = None if conditions is None else np.asarray(conditions.rows, np.float64)
    names = _names(features, 0 if rows is None else rows.shape[1])
    values = _statistics(own[None], rows)[0]
    others_values = _statistics(others, rows)
    if statistics:
        more, one, many = _own_statistics(evidence, statistics)
        names, values = (*names, *more), np.concatenate([values, one])
        others_values = np.concatenate([others_values, many], axis=1)
    p, off = joint_p_value(values, others_values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of statistics without a finite value
        low, high = np.nanquantile(others_values, [0.025, 0.975], axis=0)
    covered = _covered(observed, replicated, evidence.problem.is_uniform)
    found = Predictive(tuple(names), values, low, high, off, p, features, covered)
    return found, [_finding(found)]


def _finding(found: Predictive) -> Finding:
    numbers = found.p_value, LIMIT
    worst = np.argsort(-np.abs(found.deviation))[:_SHOWN]
    if found.p_value > LIMIT:
        text = (
            f"{len(found.names)} statistics of the observed set are like those of simulated sets "
            f"(p = {found.p_value:.2g})."
        )
        return Finding("predictive", Level.OK, text, "", *numbers)
    told = "; ".join(
        f"the {found.names[i]} is {found.observed[i]:.3g}, simulated are {found.low[i]:.3g} to "
        f"{found.high[i]:.3g}"
        for i in worst
        if abs(found.deviation[i]) > 3
    )
    text = f"The model does not reproduce the data (p = {found.p_value:.2g}): {told}."
    remedy = "Change the simulator where these statistics point to, or doubt the posterior."
    return Finding("predictive", Level.DOUBTFUL, text, remedy, *numbers)


def feature_names(problem: Problem) -> tuple[str, ...]:
    """Names of the numbers of an observation: ``x[0]``, or those of a dict's entries."""
    layout = problem.layout
    entries = zip(layout.names or ("x",), layout.shapes, strict=True)
    return tuple(
        f"{name}[{','.join(map(str, index))}]" if index else name
        for name, shape in entries
        for index in np.ndindex(shape)
    )


def _residuals(
    observed: Float[np.ndarray, "N d"], replicated: Float[np.ndarray, "R N d"], uniform: bool
) -> tuple[Float[np.ndarray, "N d"], Float[np.ndarray, "R N d"]]:
    axes = (0, 1) if uniform else (0,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of features that are never measured
        mean = np.nanmean(replicated, axis=axes)
        spread = np.nanstd(replicated, axis=axes)
    spread = np.where(spread > 0, spread, 1.0)
    return (observed - mean) / spread, (replicated - mean) / spread


def _names(features: tuple[str, ...], n_conditions: int) -> tuple[str, ...]:
    names = [f"mean of {f}" for f in features] + [f"log width of {f}" for f in features]
    if len(features) <= _MOST_FEATURES:
        names += [f"skewness of {f}" for f in features]
        names += [f"log kurtosis (weight of the tails) of {f}" for f in features]
        names += [f"log of the largest deviation of {f}" for f in features]
        names += [
            f"correlation of {f} with condition {c}" for f in features for c in range(n_conditions)
        ]
    if len(features) <= _MOST_PAIRS:
        names += [
            f"correlation of {a} and {b}" for i, a in enumerate(features) for b in features[i + 1 :]
        ]
    return tuple(names)


def _statistics(
    r: Float[np.ndarray, "R N d"], conditions: Float[np.ndarray, "N c"] | None
) -> Float[np.ndarray, "R S"]:
    """Of the residuals of each set, in the order of ``_names``. Missing numbers do not count."""
    n_features = r.shape[2]
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        mean = np.nanmean(r, axis=1)
        centred = r - mean[:, None]
        width = np.sqrt(np.nanmean(centred**2, axis=1))
        unit = centred / np.where(width > 0, width, 1.0)[:, None]
        parts = [mean, np.log(width)]
        if n_features <= _MOST_FEATURES:
            parts += [np.nanmean(unit**3, axis=1), np.log(np.nanmean(unit**4, axis=1))]
            parts.append(np.log(np.nanmax(np.abs(r), axis=1)))
            if conditions is not None:
                products = r[:, :, :, None] * conditions[None, :, None, :]
                parts.append(np.nanmean(products, axis=1).reshape(len(r), -1))
        if n_features <= _MOST_PAIRS:
            first, second = np.triu_indices(n_features, 1)
            parts.append(np.nanmean(unit[:, :, first] * unit[:, :, second], axis=1))
    return np.concatenate(parts, axis=1)


def _own_statistics(
    evidence: Evidence, statistics: Mapping[str, Statistic]
) -> tuple[tuple[str, ...], Float[np.ndarray, " s"], Float[np.ndarray, "R s"]]:
    """A user's statistics of the observed and the simulated sets.

    Raises:
        ValueError: If a function fails, or does not return as many numbers for every set.
    """
    layout, shape = evidence.problem.layout, evidence.problem.event_shape
    flat = [evidence.observed, *evidence.simulated]
    sets = [layout.split(x.reshape(len(x), *shape), lead=1) for x in flat]
    names, columns = [], []
    for name, function in statistics.items():
        try:
            values = np.stack([np.ravel(np.asarray(function(x), np.float64)) for x in sets])
        except Exception as error:
            raise ValueError(
                f"statistics[{name!r}]: expected a function of one set that returns a number, or "
                f"as many numbers for every set; it raised {type(error).__name__}: {error}"
            ) from error
        n = values.shape[1]
        names += [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
        columns.append(values)
    table = np.concatenate(columns, axis=1)
    return tuple(names), table[0], table[1:]


def _covered(
    observed: Float[np.ndarray, "N d"], replicated: Float[np.ndarray, "R N d"], uniform: bool
) -> Float[np.ndarray, "d 2"]:
    """The share of observations within the central predictive intervals."""
    axes = (0, 1) if uniform else (0,)
    shares = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for interval in _INTERVALS:
            edges = [(1 - interval) / 2, (1 + interval) / 2]
            low, high = np.nanquantile(replicated, edges, axis=axes)
            inside = np.where(np.isnan(observed), np.nan, (observed >= low) & (observed <= high))
            shares.append(np.nanmean(inside, axis=0))
    return np.stack(shares, axis=1)
