"""The bandwidth by round, for several trust regions."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pliant.bench.drawings.style import task_title
from pliant.bench.results import GridResults, in_order
from pliant.plots.style import bare, log_ticks, new_figure

EXPERIMENT = "epsilon"
_LINE: dict[str, Any] = {"linewidth": 1.2, "marker": "o", "markersize": 2.5}


def draw_bandwidth(results: GridResults) -> Figure:
    """One line per run, coloured by its epsilon; one panel per task and method."""
    runs = results.find(
        f'of the experiment "{EXPERIMENT}" with options = {{ epsilon = [...] }}',
        lambda run: run.experiment == EXPERIMENT and "epsilon" in run.varied,
    )
    panels = in_order([(run.task, run.method, run.n_obs) for run in runs])
    epsilons = sorted({run.varied["epsilon"] for run in runs})
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(epsilons)))
    figure = new_figure(max(3.4, 2.6 * len(panels)), 2.5)
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        for run in runs:
            if (run.task, run.method, run.n_obs) == panel:
                history, epsilon = results.history(run), run.varied["epsilon"]
                style = {"color": shades[epsilons.index(epsilon)], "label": f"{epsilon:g}"}
                axes.plot(history["round"], history["bandwidth"], **_LINE, **style)
        _finish(axes, *panel)
    _legend(grid[-1])
    return figure


def _finish(axes: Axes, task: str, method: str, n_obs: int) -> None:
    bare(axes)
    axes.set_yscale("log")
    log_ticks(axes.yaxis, *axes.get_ylim())
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("round", fontsize=8)
    axes.set_ylabel("bandwidth βₜ = (1 + ηₜ) β", fontsize=8)
    axes.set_title(f"{task_title(task)}, N = {n_obs}, {method}", fontsize=8)


def _legend(axes: Axes) -> None:
    """One entry per epsilon, whatever the number of seeds."""
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    ordered = sorted(handles, key=float)
    style: Any = {"fontsize": 7, "title_fontsize": 7, "frameon": False}
    axes.legend([handles[label] for label in ordered], ordered, title="ε, nats per round", **style)
