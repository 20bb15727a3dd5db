"""Means with intervals, on axes that suit the values."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from pliant.plots.style import NUMBERS, log_ticks

_FAINT = 0.6
_ROOM = 1.35  # factor around the values on a logarithmic axis
_EDGE = 1.4  # factor beyond the smallest and the largest number
_CROWDED = 0.14  # of the axis: labels nearer than this are turned
_MOST_TICKS = 5
_FINEST = 1e-10  # of the largest value: nothing smaller can be told from zero


def draw_means(
    axes: Axes,
    x: Sequence[float],
    mean: Float[np.ndarray, " n"],
    low: Float[np.ndarray, " n"],
    high: Float[np.ndarray, " n"],
    **style: Any,
) -> None:
    """Draw a line through the means, with bars from ``low`` to ``high``, which may be NaN."""
    axes.plot(x, mean, linewidth=1.2, markersize=3.5, **style)
    axes.vlines(x, low, high, color=style["color"], linewidth=0.8, alpha=_FAINT)


def number_axis(axes: Axes, numbers: Sequence[int]) -> None:
    """Make the x axis logarithmic, with a label at each number, upright where they are crowded."""
    low, high = min(numbers) / _EDGE, max(numbers) * _EDGE
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(list(numbers), [str(number) for number in numbers])
    axes.xaxis.set_minor_locator(NullLocator())
    gaps = np.diff(np.log(sorted(numbers))) / math.log(high / low)
    crowded = bool(np.any(gaps < _CROWDED))
    axes.tick_params(axis="x", labelrotation=90 if crowded else 0)


def value_axis(axes: Axes, values: Float[np.ndarray, " n"], *, near_zero: float | None) -> None:
    """Make the y axis logarithmic; linear around zero if some values are not positive.

    Unbiased estimates scatter around zero, so the linear part reaches as far above zero as the
    lowest value lies below it.

    Args:
        axes: The axes.
        values: The values to show. Bars may leave the axes.
        near_zero: The size below which values cannot be told from zero; None for a linear axis.
    """
    known = values[np.isfinite(values)]
    if near_zero is None or not len(known):
        if len(known):
            margin = 0.08 * max(known.max() - known.min(), 1e-6)
            axes.set_ylim(known.min() - margin, known.max() + margin)
        return
    low, high = known.min(), known.max()
    if low > 0:
        axes.set_yscale("log")
        axes.set_ylim(low / _ROOM, high * _ROOM)
        log_ticks(axes.yaxis, low / _ROOM, high * _ROOM)
        return
    threshold = max(near_zero, -low, _FINEST * high) or 1.0
    axes.set_yscale("symlog", linthresh=threshold, linscale=0.5)
    axes.set_ylim(min(_ROOM * low, -0.5 * threshold), max(_ROOM * high, 0.5 * threshold))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticks(_ticks_around_zero(low, high, threshold))
    axes.yaxis.set_major_formatter(NUMBERS)


def _ticks_around_zero(low: float, high: float, threshold: float) -> list[float]:
    """Zero, a number below it, and powers of ten above the linear part, or a number in it."""
    far = 0.3 * threshold  # from zero, for a label that does not overlap with it
    first = math.ceil(math.log10(2 * threshold))
    last = math.floor(math.log10(high)) if high > 0 else first - 1
    step = max(1, math.ceil((last - first + 1) / _MOST_TICKS))
    above = [10.0**k for k in range(first, last + 1, step)]
    if not above and high > far:
        above = [_round_number(high)]
    below = [-_round_number(-low)] if -low > far and step == 1 else []  # else there is no room
    return [*below, 0.0, *above]


def _round_number(x: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to ``x``."""
    unit = 10.0 ** math.floor(math.log10(x))
    return max(factor * unit for factor in (1, 2, 5) if factor * unit <= x)
