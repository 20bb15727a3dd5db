"""Several posteriors of one problem: a small pair plot for each, with common axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pliant.plots.density import Limits, smooth_curve
from pliant.plots.regions import axis_limits, draw_regions
from pliant.plots.style import (
    BLACK,
    bare,
    corner,
    label_corner,
    new_figure,
    readable,
    short_ticks,
    tint,
)
from pliant.problem.samples import as_row, as_table

_ACROSS = 2


class Panel(NamedTuple):
    """One posterior of the figure."""

    title: str
    samples: Any
    """Name to ``(n, *shape)``, or one such array."""
    colour: str


def plot_pair_panels(
    panels: Sequence[Panel],
    *,
    truth: Mapping[str, Any] | None = None,
    title: str | None = None,
    symbol: Callable[[str], str] = str,
    width: float = 7.0,
) -> Figure:
    """Pair plots in two columns, each with marginals and regions of 50 % and 90 %.

    Args:
        panels: Posteriors with the same parameters.
        truth: The true parameters, by name.
        title: A line above the plots.
        symbol: How the label of a column, such as ``theta[0]``, is written.
        width: The figure's width in inches.

    Raises:
        ValueError: If the parameters differ.
    """
    tables = [as_table(panel.samples) for panel in panels]
    labels = tables[0][0]
    for panel, (found, _) in zip(panels, tables, strict=True):
        if found != labels:
            raise ValueError(f"{panel.title}: expected the columns {labels}, got {found}.")
    names = list(panels[0].samples)
    if truth is not None and set(truth) != set(names):
        raise ValueError(f"truth: expected the parameters {names}, got {list(truth)}.")
    true = None if truth is None else as_row(truth, names)
    values = [table for _, table in tables]
    limits = [axis_limits(values, true, column) for column in range(len(labels))]
    down = -(-len(panels) // _ACROSS)
    figure = new_figure(width, width / _ACROSS * down + 0.2)
    parts = figure.subfigures(down, _ACROSS, squeeze=False)
    for part, panel, table in zip(parts.flat, panels, values, strict=False):
        part.suptitle(readable(panel.title), fontsize=8, color=panel.colour, fontweight="bold")
        _draw(part, [symbol(label) for label in labels], table, panel.colour, limits, true)
    if title is not None:
        figure.suptitle(title, fontsize=8)
    return figure


def _draw(
    part: SubFigure,
    labels: list[str],
    values: Float[np.ndarray, "n columns"],
    colour: str,
    limits: list[Limits],
    truth: np.ndarray | None,
) -> None:
    for row, column, axes in corner(part, len(labels)):
        if row == column:
            curve = smooth_curve(values[:, row], limits[row])
            axes.fill_between(*curve, color=tint(colour, 0.4), linewidth=0)
            axes.plot(*curve, color=colour, linewidth=0.7)
            axes.set_ylim(0, None)
        else:
            pair = limits[column], limits[row]
            draw_regions(axes, values[:, column], values[:, row], pair, colour=colour)
        axes.set_xlim(*limits[column])
        if truth is not None:
            _mark(axes, float(truth[column]), None if row == column else float(truth[row]))
        bare(axes)
        axes.tick_params(labelsize=5, length=1.5, pad=1.5)
        label_corner(axes, labels, row, column, _two_ticks, fontsize=6, labelpad=1)
    part.align_xlabels()


def _mark(axes: Axes, x: float, y: float | None) -> None:
    line: dict[str, Any] = {"color": BLACK, "linewidth": 0.5, "linestyle": ":"}
    axes.axvline(x, **line)
    if y is not None:
        axes.axhline(y, **line)


def _two_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """The first and the last of a few round numbers; more would overlap."""
    ticks, texts = short_ticks(low, high, most=2)
    return ticks[:: max(1, len(ticks) - 1)], texts[:: max(1, len(texts) - 1)]
