"""Axis limits and highest-density regions, as all pair plots draw them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from pliant.plots.density import Limits, smooth_surface
from pliant.plots.style import tint

LIGHT, DARK = 0.3, 0.7
"""Tints of the 90 % and of the 50 % region."""

_SHARES = (0.5, 0.9)
_QUANTILES = (0.005, 0.995)
_MARGIN = 0.08  # of the range, on each side


def axis_limits(
    tables: Sequence[Float[np.ndarray, "_ columns"]],
    truth: Float[np.ndarray, " columns"] | None,
    column: int,
) -> Limits:
    """A range that holds 99 % of a column of each table and the truth, with a margin."""
    columns = [table[:, column] for table in tables]
    ends = [np.quantile(values[np.isfinite(values)], _QUANTILES) for values in columns]
    if truth is not None:
        ends.append(np.repeat(truth[column], 2))
    low, high = float(np.min(ends)), float(np.max(ends))
    margin = _MARGIN * (high - low)
    if margin <= 1e-9 * max(abs(low), abs(high)):
        margin = 1e-3 * max(abs(low), 1.0)  # a constant parameter
    return low - margin, high + margin


def draw_regions(
    axes: Axes,
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    limits: tuple[Limits, Limits],
    *,
    colour: str,
    filled: bool = True,
) -> None:
    """Draw the regions that hold 50 % and 90 % of ``(x, y)``, and set the axes' limits.

    There are no regions if all samples lie in one cell of the histogram.
    """
    surface = smooth_surface(x, y, limits, _SHARES)
    low, high = surface.levels
    if 0 < low < high and filled:
        top = max(surface.density.max(), high) * 1.01
        colours = [tint(colour, LIGHT), tint(colour, DARK)]
        drawn = axes.contourf(*surface[:3], levels=[low, high, top], colors=colours)
        drawn.set(edgecolor="face", linewidth=0.5)  # keeps a tiny region visible
    elif 0 < low < high:
        axes.contour(*surface[:3], levels=[low, high], colors=colour, linewidths=0.7)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
