"""Effects of the partition function: on the order of the weights, and on convergence."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pliant.bench.drawings.style import (
    legend_above,
    line_style,
    method_handles,
    task_title,
    width_of,
)
from pliant.bench.plan import Run
from pliant.bench.results import GridResults, in_order
from pliant.metrics.mmd import squared_mmd
from pliant.metrics.wasserstein import squared_wasserstein
from pliant.plots.means import value_axis
from pliant.plots.style import GREY, bare, new_figure
from pliant.problem.samples import as_table
from pliant.tasks import get

EXPERIMENT = "partition"
_DASHES = ["-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))]
_NEAR_ZERO = 1e-3  # of the largest distance: unbiased estimates scatter around zero
_DISTANCES = {"MMD² to the exact posterior": squared_mmd, "Wasserstein² to it": squared_wasserstein}


def draw_spearman(results: GridResults) -> Figure:
    """Rank correlation of the weights with and without the partition function, by round."""
    runs = results.find(
        f'of the experiment "{EXPERIMENT}" with options = {{ partition = [...] }}',
        lambda run: run.experiment == EXPERIMENT and run.varied.get("partition", 0) != 0,
    )
    tasks, methods = in_order([r.task for r in runs]), in_order([r.method for r in runs])
    numbers = sorted({run.n_obs for run in runs})
    figure = new_figure(width_of(len(tasks)), 2.3)
    grid = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
    for axes, task in zip(grid, tasks, strict=True):
        for run in runs:
            history = results.history(run)
            if run.task == task and "spearman" in history.columns:
                style = {"color": line_style(run.method, methods)["color"], "linewidth": 1.2}
                dashes = _DASHES[numbers.index(run.n_obs) % len(_DASHES)]
                axes.plot(history["round"], history["spearman"], linestyle=dashes, **style)
        _finish(axes)
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
    tasks, methods = in_order([r.task for r in runs]), in_order([r.method for r in runs])
    figure = new_figure(width_of(len(tasks)), 3.6)
    grid = figure.subplots(2, len(tasks), squeeze=False)
    for run in runs:
        colour = line_style(run.method, methods)["color"]
        dashes = _DASHES[0] if run.varied["partition"] else _DASHES[2]
        rounds, curves = _curves(results, run)
        for axes, curve in zip(grid[:, tasks.index(run.task)], curves, strict=True):
            axes.plot(rounds, curve, color=colour, linestyle=dashes, linewidth=1.2)
    for line, title in zip(grid, _DISTANCES, strict=True):
        line[0].set_ylabel(title, fontsize=7)
        for axes in line:
            values = np.concatenate([np.asarray(drawn.get_ydata(), float) for drawn in axes.lines])
            value_axis(axes, values, near_zero=_NEAR_ZERO * np.abs(values).max())
            _finish(axes)
    for axes, task in zip(grid[0], tasks, strict=True):
        axes.set_title(task_title(task), fontsize=8)
    handles = method_handles(methods, marker="")
    handles.append(Line2D([], [], color=GREY, linestyle=_DASHES[0], label="with Z(θ)"))
    handles.append(Line2D([], [], color=GREY, linestyle=_DASHES[2], label="without"))
    handles.append(Line2D([], [], linestyle="none", label=f"N = {n_obs}"))
    legend_above(figure, handles)
    return figure


def _has_curve(run: Run) -> bool:
    known = run.experiment == EXPERIMENT and "partition" in run.varied and run.snapshots > 0
    return known and get(run.task).has_reference


def _curves(results: GridResults, run: Run) -> tuple[list[int], list[np.ndarray]]:
    """The rounds, and each distance after every round."""
    snapshots = results.snapshots(run)
    exact = get(run.task).reference(n_obs=run.n_obs, seed=run.seed, n=run.snapshots)
    reference = as_table(exact)[1]
    tables = [as_table(samples, list(exact))[1] for samples in snapshots.values()]
    curves = [
        np.array([distance(table, reference) for table in tables])
        for distance in _DISTANCES.values()
    ]
    return list(snapshots), curves


def _finish(axes: Axes) -> None:
    bare(axes)
    axes.tick_params(labelsize=6)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel("round", fontsize=7)
