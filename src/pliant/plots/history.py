"""The history plot: the numbers of a run by round, one panel per quantity."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from pliant.plots.style import BLACK, BLUE, GREY, VERMILLION, bare, log_ticks, new_figure
from pliant.run.history import COLUMNS, History

_LINE: dict[str, Any] = {"marker": "o", "markersize": 3, "linewidth": 1.2}
_LIMIT: dict[str, Any] = {"color": BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
_ACROSS = 3

_Panel = Callable[[Axes, History, float | None], None]
"""Draws one quantity by round, and its limit."""


def plot_history(
    history: History | Sequence[dict[str, Any]],
    *,
    epsilon: float | None = None,
    noise_limit: float | None = None,
) -> Figure:
    """Plot bandwidth, KL, ESS, acceptance, distances, their noise, and the fit's loss by round.

    Quantities that the run did not record have no panel.

    Args:
        history: ``Result.history``, or its rows.
        epsilon: The trust region's bound on the KL, shown as a line.
        noise_limit: The share of noise at which PLI stops, shown as a line.

    Returns:
        A figure without a window: ``figure.savefig("history.png")``.

    Raises:
        ValueError: If the history has no rounds or none of these quantities.
    """
    rows = history if isinstance(history, History) else History(history)
    panels = [name for name in _PANELS if name in rows.columns and _any(rows[name])]
    if not panels:
        raise ValueError("history: expected at least one round with numbers to draw.")
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(3.1 * across, 2.3 * down)
    grid = figure.subplots(down, across, squeeze=False)
    limits = {"kl": epsilon, "noise_share": noise_limit}
    for axes, name in zip(grid.flat, panels, strict=False):
        _PANELS[name](axes, rows, limits.get(name))
        axes.set_title(COLUMNS[name].meaning, fontsize=9, loc="left")
        _round_axis(axes, rows)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, frameon=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    return figure


def _draw_bandwidth(axes: Axes, rows: History, limit: float | None) -> None:
    bandwidth = _finite(rows["bandwidth"])
    axes.plot(rows["round"], bandwidth, color=BLUE, **_LINE)
    if "eta" in rows.columns:
        beta = np.nanmedian(bandwidth / (1 + _finite(rows["eta"])))
        axes.axhline(beta, label="target", **_LIMIT)
    if np.nanmin(bandwidth) > 0:  # tolerances of an unbiased distance can be negative
        _log_scale(axes)


def _draw_line(
    name: str, *, limit_label: str = "", from_zero: bool = True, percent: bool = False
) -> _Panel:
    """A panel with one line, and perhaps a limit."""

    def draw(axes: Axes, rows: History, limit: float | None) -> None:
        axes.plot(rows["round"], _finite(rows[name]), color=BLUE, **_LINE)
        if limit is not None:
            axes.axhline(limit, label=limit_label, **_LIMIT)
        if from_zero:
            axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        if percent:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))

    return draw


def _draw_distances(axes: Axes, rows: History, limit: float | None) -> None:
    x, median = rows["round"], _finite(rows["distance_median"])
    axes.plot(x, median, color=BLUE, label="median", **_LINE)
    lowest = [median]
    if "distance_min" in rows.columns:
        smallest = _finite(rows["distance_min"])
        axes.plot(x, smallest, color=VERMILLION, label="smallest", **_LINE)
        lowest.append(smallest)
    known = "distance_se" in rows.columns
    error = _finite(rows["distance_se"] if known else np.full(len(x), np.nan))
    if _any(error):
        band = {"label": "± error of a distance", "color": GREY, "alpha": 0.35}
        if len(x) == 1:
            axes.errorbar(x, median, yerr=error, linewidth=6, linestyle="none", **band)
        else:
            axes.fill_between(x, median - error, median + error, linewidth=0, **band)
    if np.nanmin(lowest) > 0:
        _log_scale(axes)
    elif _any(error) and np.nanmedian(error) > 0:  # estimates of small distances scatter about 0
        axes.set_yscale("symlog", linthresh=float(np.nanmedian(error)))


_PANELS: dict[str, _Panel] = {
    "bandwidth": _draw_bandwidth,
    "kl": _draw_line("kl", limit_label="trust region"),
    "ess": _draw_line("ess"),
    "acceptance": _draw_line("acceptance", percent=True),
    "distance_median": _draw_distances,
    "noise_share": _draw_line("noise_share", limit_label="limit", percent=True),
    "held_out": _draw_line("held_out", from_zero=False),
}


def _round_axis(axes: Axes, rows: History) -> None:
    bare(axes)
    axes.set_xlim(rows["round"][0] - 0.5, rows["round"][-1] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.set_xlabel("round", fontsize=8)


def _log_scale(axes: Axes) -> None:
    axes.set_yscale("log")
    log_ticks(axes.yaxis, *axes.get_ylim())


def _finite(values: np.ndarray) -> np.ndarray:
    numbers = np.asarray(values, np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _any(values: np.ndarray) -> bool:
    return bool(np.any(np.isfinite(np.asarray(values, np.float64))))
