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
    """Make the x axis logarithmic, with a tick at each number."""
    axes.set_xscale("log")
    axes.set_xlim(min(numbers) / 1.4, max(numbers) * 1.4)
    axes.set_xticks(list(numbers), [str(number) for number in numbers])
    axes.xaxis.set_minor_locator(NullLocator())


def value_axis(axes: Axes, values: Float[np.ndarray, " n"], *, near_zero: float | None) -> None:
    """Make the y axis logarithmic; linear around zero if some values are not positive.

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
    threshold = max(near_zero, 1e-4 * np.abs(known).max())
    axes.set_yscale("symlog", linthresh=threshold, linscale=0.5)
    axes.set_ylim(min(1.5 * low, -0.5 * threshold), high * _ROOM)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticks(_ticks_around_zero(low, high, threshold))
    axes.yaxis.set_major_formatter(NUMBERS)


def _ticks_around_zero(low: float, high: float, threshold: float) -> list[float]:
    """Zero, and the powers of ten that are far enough from it."""
    first = math.ceil(math.log10(3 * threshold))
    above = [10.0**k for k in range(first, math.floor(math.log10(high)) + 1)] if high > 0 else []
    below = [-(10.0**k) for k in range(first, 10) if -(10.0**k) >= low]
    return [*below, 0.0, *above]
