"""The bandwidth by round, for several trust regions."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pliant.bench.drawings.curves import draw_mean_curve
from pliant.bench.drawings.style import task_title
from pliant.bench.results import GridResults, in_order
from pliant.plots.style import GREY, bare, log_ticks, new_figure, readable

EXPERIMENT = "epsilon"
_LINE: dict[str, Any] = {"linewidth": 1.2, "marker": "o", "markersize": 2.5}


def draw_bandwidth(results: GridResults) -> Figure:
    """``1 + eta`` by round, one line per epsilon; one panel per task, method and N.

    The paper shows eta itself, which is zero once the trust region is inactive: no logarithmic
    axis has room for that. The axis on the right has the bandwidth ``(1 + eta) beta``.
    """
    runs = results.find(
        f'of the experiment "{EXPERIMENT}" with options = {{ epsilon = [...] }}',
        lambda run: run.experiment == EXPERIMENT and "epsilon" in run.varied,
    )
    panels = in_order([(run.task, run.method, run.n_obs) for run in runs])
    epsilons = sorted({run.varied["epsilon"] for run in runs})
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(epsilons)))
    figure = new_figure(1.2 + 2.7 * len(panels), 2.6)
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        mine = [run for run in runs if (run.task, run.method, run.n_obs) == panel]
        for epsilon, shade in zip(epsilons, shades, strict=True):
            histories = [results.history(r) for r in mine if r.varied["epsilon"] == epsilon]
            curves = [(history["round"], 1 + history["eta"]) for history in histories]
            if curves:
                draw_mean_curve(axes, curves, color=shade, label=f"{epsilon:g}", **_LINE)
        _finish(axes, *panel)
        targets = {beta for run in mine for beta in results.history(run)["beta"]}
        if len(targets) == 1:
            _add_bandwidths(axes, targets.pop())
    handles = [
        Line2D([], [], color=shade, label=f"{epsilon:g}", **_LINE)
        for epsilon, shade in zip(epsilons, shades, strict=True)
    ]
    style: Any = {"fontsize": 7, "title_fontsize": 7, "frameon": False}
    title = "ε, nats\nper round"
    figure.legend(handles=handles, title=title, loc="outside right center", **style)
    return figure


def _finish(axes: Axes, task: str, method: str, n_obs: int) -> None:
    bare(axes)
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    log_ticks(axes.yaxis, low, high)
    axes.set_ylim(low, high)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("round t", fontsize=8)
    axes.set_ylabel(r"$1 + \eta_t$", fontsize=8)
    axes.set_title(f"{task_title(task)}, N = {n_obs}, {readable(method)}", fontsize=8)


def _add_bandwidths(axes: Axes, beta: float) -> None:
    """An axis on the right with the bandwidth, for the target ``beta``."""
    there_and_back: Any = (lambda y: y * beta, lambda y: y / beta)
    right = axes.secondary_yaxis("right", functions=there_and_back)
    right.tick_params(labelsize=7, length=2.5, width=0.6)
    right.spines["right"].set_linewidth(0.6)
    low, high = axes.get_ylim()
    log_ticks(right.yaxis, low * beta, high * beta)
    right.set_ylabel(r"bandwidth $\beta_t = (1 + \eta_t)\,\beta$", fontsize=8)
