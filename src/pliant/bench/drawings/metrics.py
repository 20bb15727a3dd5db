"""Metrics by number of observations: the paper's main figure, and all metrics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pliant.bench.collect import Row
from pliant.bench.drawings.style import (
    METRICS,
    legend_above,
    line_style,
    method_handles,
    ordered_methods,
    ordered_tasks,
    task_title,
    width_of,
)
from pliant.bench.results import GridResults, MissingRunsError
from pliant.plots.means import draw_means, number_axis, value_axis
from pliant.plots.style import GREY, bare, new_figure

EXPERIMENT = "accuracy"
_MAIN = [("MMD^2", "predictive MMD^2"), ("Wasserstein^2", "predictive Wasserstein^2")]
"""The rows of the main figure; the second of each pair if there is no exact posterior."""
_DODGE = 1.06  # the factor between the points of two methods, which keeps bars apart
_FLOOR: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (4, 2))}
_DENSITY, _LINEAR = "log density of truth", ("log density of truth", "C2ST")
_WIDE = 1000.0  # nats, from which on a linear axis would hide all differences but one
_NATS = 10.0  # the linear part of the axis then


def draw_main(results: GridResults) -> Figure:
    """MMD and Wasserstein distance to the exact posterior, or of predictions without one."""
    rows, tasks, has = _accuracy(results)
    names = [
        [first if (task, first) in has else second for task in tasks] for first, second in _MAIN
    ]
    return _draw(rows, tasks, names)


def draw_all(results: GridResults) -> Figure:
    """All metrics of all tasks; the log density has its sign changed, so lower is better."""
    rows, tasks, has = _accuracy(results)
    names = [[name] * len(tasks) for name in METRICS if any((task, name) in has for task in tasks)]
    exact, errors = [_MAIN[0][0]] * len(tasks), ["rollout error"] * len(tasks)
    if exact in names and errors in names:  # only tasks without an exact posterior have rollouts
        names.remove(errors)
        names[names.index(exact)] = [
            first if (task, first) in has else second
            for task, first, second in zip(tasks, exact, errors, strict=True)
        ]
    return _draw(rows, tasks, names)


def _accuracy(results: GridResults) -> tuple[list[Row], list[str], set[tuple[str, str]]]:
    """The rows of the experiment, its tasks, and which metrics each of them has."""
    rows = [row for row in results.summary if row["experiment"] == EXPERIMENT]
    if not rows:
        raise MissingRunsError(f'any of the experiment "{EXPERIMENT}"')
    has = {(row["task"], row["metric"]) for row in rows}
    return rows, ordered_tasks(row["task"] for row in rows), has


def _draw(rows: Sequence[Row], tasks: Sequence[str], names: list[list[str]]) -> Figure:
    """One column per task; ``names`` has the metric for each row and task."""
    methods = ordered_methods(row["method"] for row in rows)
    figure = new_figure(width_of(len(tasks)), 0.5 + 1.5 * len(names))
    grid = figure.subplots(len(names), len(tasks), squeeze=False)
    for line, some in zip(grid, names, strict=True):
        for column, (axes, task, name) in enumerate(zip(line, tasks, some, strict=True)):
            panel = [row for row in rows if (row["task"], row["metric"]) == (task, name)]
            if not panel:
                axes.set_axis_off()
                continue
            draw_panel(axes, panel, methods)
            if column == 0 or some[column - 1] != name or name != some[0]:
                axes.set_ylabel(METRICS[name].replace(" to the", "\nto the"), fontsize=7)
    for column, task in enumerate(tasks):
        grid[0, column].set_title(task_title(task), fontsize=8)
        shown = [axes for axes in grid[:, column] if axes.axison]
        shown[-1].set_xlabel("observations N", fontsize=7)
    figure.align_ylabels(grid[:, 0])
    handles = method_handles(methods, linewidth=1.2, markersize=4)
    if any(row["floor"] is not None for row in rows):
        handles.append(Line2D([], [], label="noise floor", **_FLOOR))
    legend_above(figure, handles)
    return figure


def draw_panel(axes: Axes, rows: Sequence[Row], methods: Sequence[str]) -> None:
    """One metric of one task: a line per method, and the noise floor as a dashed line."""
    means, name = [], rows[0]["metric"]
    sign = -1.0 if name == _DENSITY else 1.0
    for method in methods:
        mine = sorted((row for row in rows if row["method"] == method), key=lambda r: r["n_obs"])
        if mine:
            mean, low, high = (sign * _column(mine, key) for key in ("mean", "low", "high"))
            shift = _DODGE ** (methods.index(method) - (len(methods) - 1) / 2)
            x = [shift * row["n_obs"] for row in mine]
            draw_means(axes, x, mean, low, high, **line_style(method, methods))
            means.append(mean)
    number_axis(axes, sorted({row["n_obs"] for row in rows}))
    known = sorted((row for row in rows if row["floor"] is not None), key=lambda r: r["seeds"])
    floors = {row["n_obs"]: row["floor"] for row in known}  # the mean of the most seeds
    values = np.concatenate(means)
    value_axis(axes, values, near_zero=_near_zero(name, values, list(floors.values())))
    if any(floors.values()):
        x, floor = np.array(sorted(floors.items()), float).T
        hidden = (floor <= 0) & (axes.get_yscale() == "log")  # a line to it would be vertical
        axes.plot(x, np.where(hidden, np.nan, floor), **_FLOOR)
    bare(axes)
    axes.tick_params(labelsize=6)


def _near_zero(name: str, values: np.ndarray, floors: Sequence[float]) -> float | None:
    """The size of what cannot be told from zero; None for a linear axis."""
    if name not in _LINEAR:
        return min((abs(value) for value in floors if value), default=0.0)
    known = values[np.isfinite(values)]
    return _NATS if name == _DENSITY and len(known) and np.ptp(known) > _WIDE else None


def _column(rows: Sequence[Row], key: str) -> np.ndarray:
    return np.array([np.nan if row[key] is None else row[key] for row in rows], float)
