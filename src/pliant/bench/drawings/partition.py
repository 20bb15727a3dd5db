"""Effects of the partition function: on the order of the weights, and on convergence."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pliant.bench.drawings.curves import draw_mean_curve
from pliant.bench.drawings.style import (
    legend_above,
    line_style,
    method_handles,
    ordered_methods,
    ordered_tasks,
    task_title,
    width_of,
)
from pliant.bench.plan import Run
from pliant.bench.results import GridResults, in_order
from pliant.metrics.mmd import squared_mmd
from pliant.metrics.wasserstein import squared_wasserstein
from pliant.plots.means import value_axis
from pliant.plots.style import GREY, bare, new_figure, tint
from pliant.problem.samples import as_table
from pliant.tasks import get

EXPERIMENT = "partition"
_DASHES = ["-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))]
_DISTANCES = {
    "MMD²\nto the exact posterior": squared_mmd,
    "Wasserstein²\nto the exact posterior": squared_wasserstein,
}


def draw_spearman(results: GridResults) -> Figure:
    """Rank correlation of the weights with and without the partition function, by round."""
    runs = results.find(
        f'of the experiment "{EXPERIMENT}" with options = {{ partition = [...] }}',
        lambda run: run.experiment == EXPERIMENT and run.varied.get("partition", 0) != 0,
    )
    tasks, methods = ordered_tasks(r.task for r in runs), ordered_methods(r.method for r in runs)
    numbers = sorted({run.n_obs for run in runs})
    figure = new_figure(width_of(len(tasks)), 2.3)
    grid = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
    for task, method, n_obs in in_order([(run.task, run.method, run.n_obs) for run in runs]):
        same = [run for run in runs if (run.task, run.method, run.n_obs) == (task, method, n_obs)]
        histories = [
            history for run in same if "spearman" in (history := results.history(run)).columns
        ]
        curves = [(history["round"], history["spearman"]) for history in histories]
        if curves:
            style = {"color": line_style(method, methods)["color"], "linewidth": 1.2}
            dashes = _DASHES[numbers.index(n_obs) % len(_DASHES)]
            draw_mean_curve(grid[tasks.index(task)], curves, linestyle=dashes, **style)
    for axes, task in zip(grid, tasks, strict=True):
        _finish(axes)
        axes.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
        axes.set_ylim(-1.05, 1.05)
        axes.set_title(task_title(task), fontsize=8)
    grid[0].set_ylabel("Spearman correlation", fontsize=7)
    handles = method_handles(methods, marker="")
    handles += [
        Line2D([], [], color=GREY, linestyle=_DASHES[i % len(_DASHES)], label=f"N = {number}")
        for i, number in enumerate(numbers)
    ]
    legend_above(figure, handles)
    return figure


def draw_training(results: GridResults) -> Figure:
    """Distances to the exact posterior by round, with and without the partition function."""
    wanted = (
        f'of the experiment "{EXPERIMENT}" with options = {{ partition = [0, ...] }} and '
        "snapshots, on a task with an exact posterior"
    )
    runs = results.find(wanted, _has_curve)
    n_obs = max(run.n_obs for run in runs)
    runs = [run for run in runs if run.n_obs == n_obs]
    tasks, methods = ordered_tasks(r.task for r in runs), ordered_methods(r.method for r in runs)
    figure = new_figure(width_of(len(tasks)), 3.9)
    grid = figure.subplots(2, len(tasks), squeeze=False)
    kinds = in_order([(run.task, run.method, bool(run.varied["partition"])) for run in runs])
    for task, method, corrected in sorted(kinds, key=lambda kind: not kind[2]):
        same = [run for run in runs if (run.task, run.method) == (task, method)]
        same = [run for run in same if bool(run.varied["partition"]) == corrected]
        found = [_curves(results, run) for run in same]
        style = _line(line_style(method, methods)["color"], corrected=corrected)
        for row, axes in enumerate(grid[:, tasks.index(task)]):
            draw_mean_curve(axes, [(rounds, curves[row]) for rounds, curves in found], **style)
    for line, title in zip(grid, _DISTANCES, strict=True):
        line[0].set_ylabel(title, fontsize=7)
        for axes in line:
            values = np.concatenate([np.asarray(drawn.get_ydata(), float) for drawn in axes.lines])
            value_axis(axes, values, near_zero=0.0)
            _finish(axes)
    for axes, task in zip(grid[0], tasks, strict=True):
        axes.set_title(task_title(task), fontsize=8)
    figure.align_ylabels(grid[:, 0])
    handles = method_handles(methods, marker="")
    handles.append(Line2D([], [], label="with Z(θ)", **_line(GREY, corrected=True)))
    handles.append(Line2D([], [], label="without Z(θ)", **_line(GREY, corrected=False)))
    legend_above(figure, handles, f"N = {n_obs}")
    return figure


def _line(colour: str, *, corrected: bool) -> dict[str, Any]:
    """A broad pale line with Z, and a thin dashed one without, which stays visible upon it."""
    if corrected:
        return {"color": tint(colour, 0.5), "linewidth": 2.4, "solid_capstyle": "butt"}
    return {"color": colour, "linewidth": 1.0, "linestyle": _DASHES[1]}


def _has_curve(run: Run) -> bool:
    known = run.experiment == EXPERIMENT and "partition" in run.varied and run.snapshots > 0
    return known and get(run.task).has_reference


def _curves(results: GridResults, run: Run) -> tuple[np.ndarray, list[np.ndarray]]:
    """The rounds, and each distance after every round."""
    snapshots = results.snapshots(run)
    exact = get(run.task).reference(n_obs=run.n_obs, seed=run.seed, n=run.snapshots)
    reference = as_table(exact)[1]
    tables = [as_table(samples, list(exact))[1] for samples in snapshots.values()]
    curves = [
        np.array([distance(table, reference) for table in tables])
        for distance in _DISTANCES.values()
    ]
    return np.array(list(snapshots)), curves


def _finish(axes: Axes) -> None:
    bare(axes)
    axes.tick_params(labelsize=6)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel("round", fontsize=7)
