"""Posteriors side by side: exact, PLI, APT and ABC, for few and many observations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pliant.bench.drawings.metrics import EXPERIMENT
from pliant.bench.drawings.style import WIDTH, line_style, region_handles, symbol, task_title
from pliant.bench.results import GridResults, MissingRunsError
from pliant.plots.pair_panels import Panel, plot_pair_panels
from pliant.plots.regions import axis_limits, draw_regions
from pliant.plots.style import BLACK, GREY, bare, new_figure, short_ticks
from pliant.problem.samples import as_row, as_table
from pliant.tasks import get

METHODS = ("PLI-MMD", "APT", "PMC-ABC-MMD")
_REFERENCE = "exact"
_REFERENCE_SAMPLES = 5000
_DOTTED: dict[str, Any] = {"color": BLACK, "linewidth": 0.8, "linestyle": ":"}


def draw_slices(results: GridResults) -> Figure:
    """Gaussian location in the plane of its first two parameters: N = 2 above, N = 100 below."""
    rows = {n_obs: _posteriors(results, "gaussian_location", n_obs) for n_obs in (2, 100)}
    truth = as_row(get("gaussian_location").truth)[:2]
    figure = new_figure(WIDTH, 3.9)
    grid = figure.subplots(2, len(METHODS) + 1, squeeze=False)
    for axes, label in zip(grid[0], rows[2], strict=True):
        axes.set_title(label, fontsize=8)
    for line, (n_obs, posteriors) in zip(grid, rows.items(), strict=True):
        points = {label: as_table(samples)[1][:, :2] for label, samples in posteriors.items()}
        first, second = (axis_limits(list(points.values()), truth, axis) for axis in (0, 1))
        for axes, (label, values) in zip(line, points.items(), strict=True):
            draw_regions(axes, values[:, 0], values[:, 1], (first, second), colour=_colour(label))
            axes.axvline(truth[0], **_DOTTED)
            axes.axhline(truth[1], **_DOTTED)
            bare(axes)
            axes.set_xticks(*short_ticks(*first, most=4))
            axes.set_yticks(*short_ticks(*second, most=4))
            axes.set_xlabel(symbol("theta[0]"), fontsize=8)
        for axes in line[1:]:
            axes.tick_params(labelleft=False)
        line[0].set_ylabel(f"N = {n_obs}\n{symbol('theta[1]')}", fontsize=8)
    handles = [*region_handles(GREY, "regions"), Line2D([], [], label="truth", **_DOTTED)]
    style: Any = {"loc": "outside lower center", "ncols": 3, "fontsize": 7, "frameon": False}
    figure.legend(handles=handles, **style)
    return figure


def draw_pairs(results: GridResults, task: str, n_obs: int) -> Figure:
    """All pairs of parameters, one pair plot per method."""
    posteriors = _posteriors(results, task, n_obs)
    panels = [Panel(label, samples, _colour(label)) for label, samples in posteriors.items()]
    truth = {name: np.asarray(value) for name, value in get(task).truth.items()}
    title = f"{task_title(task)}, N = {n_obs}: regions of 50 % and 90 %, truth dotted"
    return plot_pair_panels(panels, truth=truth, title=title, symbol=symbol, width=WIDTH)


def _posteriors(results: GridResults, task: str, n_obs: int) -> dict[str, Mapping[str, np.ndarray]]:
    """Samples of the exact posterior, if known, and of each method, all for one seed."""
    found = {
        (run.method, run.seed): run
        for run in results.runs
        if (run.experiment, run.task, run.n_obs) == (EXPERIMENT, task, n_obs)
    }
    seeds = [seed for _, seed in found if all((method, seed) in found for method in METHODS)]
    if not seeds:
        raise MissingRunsError(
            f"of {', '.join(METHODS)} on {task} with N = {n_obs} and one seed, in the experiment "
            f'"{EXPERIMENT}"'
        )
    seed, exact = min(seeds), get(task)
    posteriors: dict[str, Mapping[str, np.ndarray]] = {}
    if exact.has_reference:
        reference = exact.reference(n_obs=n_obs, seed=seed, n=_REFERENCE_SAMPLES)
        posteriors[_REFERENCE] = {name: np.asarray(leaf) for name, leaf in reference.items()}
    return posteriors | {method: results.samples(found[method, seed]) for method in METHODS}


def _colour(label: str) -> str:
    return BLACK if label == _REFERENCE else line_style(label, METHODS)["color"]
