"""A mean with its interval against a number, on a scale that suits the values."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from pliant.plots.style import log_ticks

_FAINT = 0.6
_ROOM = 1.35  # around the values on a logarithmic axis


def draw_means(
    axes: Axes,
    x: Sequence[float],
    mean: Float[np.ndarray, " n"],
    low: Float[np.ndarray, " n"],
    high: Float[np.ndarray, " n"],
    **look: Any,
) -> None:
    """A line through the means, with bars from ``low`` to ``high``, which may be NaN."""
    axes.plot(x, mean, linewidth=1.2, markersize=3.5, **look)
    axes.vlines(x, low, high, color=look["color"], linewidth=0.8, alpha=_FAINT)


def number_axis(axes: Axes, numbers: Sequence[int]) -> None:
    """A logarithmic axis of x with a tick at every one of the numbers."""
    axes.set_xscale("log")
    axes.set_xlim(min(numbers) / 1.4, max(numbers) * 1.4)
    axes.set_xticks(list(numbers), [str(number) for number in numbers])
    axes.xaxis.set_minor_locator(NullLocator())


def value_axis(axes: Axes, values: Float[np.ndarray, " n"], *, near_zero: float | None) -> None:
    """A logarithmic axis of y that shows all values; linear around zero if some are not positive.

    Args:
        axes: Where the values are drawn.
        values: Those that have to be seen. Bars may leave the axis.
        near_zero: Below this size values cannot be told from zero; None if they have a sign
            that means something, so that the axis is linear.
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
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{y:g}".replace("-", "\N{MINUS SIGN}"))
    )


def _ticks_around_zero(low: float, high: float, threshold: float) -> list[float]:
    """Zero, and powers of ten that are far enough from it."""
    first = math.ceil(math.log10(3 * threshold))
    above = [10.0**k for k in range(first, math.floor(math.log10(high)) + 1)] if high > 0 else []
    below = [-(10.0**k) for k in range(first, 10) if -(10.0**k) >= low]
    return [*below, 0.0, *above]
