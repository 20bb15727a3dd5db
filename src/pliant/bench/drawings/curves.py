"""Curves by round: the mean over seeds, with its 95 % interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from pliant.bench.collect import interval

_FAINT = 0.18
_FEWEST = 3  # curves: the interval of two is six times as wide as their distance

Curve = tuple[np.ndarray, np.ndarray]
"""Rounds and values of one run."""


def draw_mean_curve(axes: Axes, curves: Sequence[Curve], **style: Any) -> None:
    """Draw the mean of the curves, and a band for its interval where there are three or more.

    Runs can differ in length: each round has the mean of the runs that reached it.
    """
    rounds, mean, low, high = mean_curve(curves)
    axes.plot(rounds, mean, **style)
    if np.any(np.isfinite(low)):
        axes.fill_between(rounds, low, high, color=style["color"], alpha=_FAINT, linewidth=0)


def mean_curve(curves: Sequence[Curve]) -> tuple[Float[np.ndarray, " T"], ...]:
    """Rounds, means, and the ends of the intervals; NaN where fewer than three have a value."""
    by_round: dict[int, list[float]] = {}
    for rounds, values in curves:
        for index, value in zip(rounds, values, strict=True):
            if np.isfinite(value):
                by_round.setdefault(int(index), []).append(value)
    order = sorted(by_round)
    groups = [np.array(by_round[index]) for index in order]
    ends = [interval(group) if len(group) >= _FEWEST else (np.nan, np.nan) for group in groups]
    low, high = np.array(ends).reshape(-1, 2).T
    return np.array(order, float), np.array([group.mean() for group in groups]), low, high
