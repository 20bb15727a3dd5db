"""How PLI works, shown by one finished run: sets, pseudo-likelihoods, and posteriors by round."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pliant._importance import normalise
from pliant.bench.drawings.style import (
    WIDTH,
    evenly_spaced,
    line_style,
    region_handles,
    symbol,
    task_title,
)
from pliant.bench.plan import Run
from pliant.bench.results import GridResults, Samples
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.methods.pli import PLI
from pliant.plots.density import Limits
from pliant.plots.regions import axis_limits, draw_regions
from pliant.plots.style import BLACK, GREY, bare, new_figure, short_ticks, tint
from pliant.problem.points import points
from pliant.problem.problem import Problem
from pliant.problem.samples import as_row, as_table, named
from pliant.problem.sets import simulate_sets
from pliant.problem.space import constrain_all
from pliant.tasks import get
from pliant.tasks.base import AbstractTask

EXPERIMENT = "overview"
_PLANES = {"slcp": (2, 3)}
"""The columns of the parameters to show; the first two by default."""
_FEATURES = {"sir": (3, 5)}
"""The features of an observation to show; the first two by default."""
_ROUNDS, _EXAMPLES = 4, 3  # posteriors to show, and those of them to take an example from
_BANDWIDTHS = 3
_CANDIDATES = 33  # draws per stage, of which the one with the median distance is shown
_PRIOR_DRAWS = 10_000
_SEED = 0
_FEW = 30  # observations, up to which their points are larger
_DOTS = 500  # draws of the prior to show
_PRIOR: dict[str, Any] = {"marker": ".", "color": GREY, "markersize": 2, "markeredgewidth": 0}
_TRUTH: dict[str, Any] = {
    "marker": "o",
    "markersize": 7,
    "markerfacecolor": "none",
    "markeredgecolor": "#440154",  # the first colour of the examples
    "markeredgewidth": 0.8,
}
_DOT: dict[str, Any] = {"markersize": 3.5, "markeredgecolor": "white", "markeredgewidth": 0.5}


class Example(NamedTuple):
    """A parameter with the set that was simulated with it."""

    source: str
    """Where it comes from: ``truth``, ``prior`` or a round."""
    theta: Float[np.ndarray, " columns"]
    simulated: Float[np.ndarray, "N d"]
    distance: float
    """Of the simulated set to the observed one."""


class Stage(NamedTuple):
    """A distribution of the parameters on the way from the prior to the posterior."""

    title: str
    samples: Float[np.ndarray, "n columns"]
    colour: str


def draw_overview(results: GridResults) -> Figure:
    """Sets of a few parameters, their pseudo-likelihoods by bandwidth, and the posteriors.

    All numbers are those of a finished run. The sets are simulated anew, N draws each, with a
    fixed seed: for the truth, and for typical draws of the last few posteriors and of the prior,
    each of which has the median distance of 33.
    """
    run = _find(results)
    task = get(run.task)
    problem, method = task.problem(n_obs=run.n_obs, seed=run.seed), cast(PLI, run.built_method)
    snapshots = results.snapshots(run)
    rounds = evenly_spaced(sorted(snapshots), _ROUNDS)
    prior = named(problem.prior.space.pack(_prior_samples(problem)))
    posteriors = {_title(index, rounds): snapshots[index] for index in rounds}
    last = dict(reversed(list(posteriors.items())[-_EXAMPLES:]))
    found = examples(method, problem, task, {**last, "prior": prior})

    figure = new_figure(WIDTH, 4.9)
    above, below = cast(Any, figure.subfigures(2, 1, height_ratios=[1.55, 1]))
    left, right = above.subfigures(1, 2, width_ratios=[1.4, 1])
    left.suptitle("Simulate a set with each parameter, and compare", **_HEAD)
    _draw_sets(left, run, np.asarray(problem.observed), found)
    right.suptitle(r"Weight the parameters by $\bf{exp(-D\,/\,2\beta_t)}$", **_HEAD)
    history = results.history(run)
    bandwidths = dict(zip(history["round"].astype(int), history["bandwidth"], strict=True))
    some = {index: float(bandwidths[index]) for index in evenly_spaced(rounds, _BANDWIDTHS)}
    _draw_bars(right.subplots(), found, pseudo_likelihoods(method, found, some))
    title = f"Fit the posterior, round by round ({task_title(run.task)}, N = {run.n_obs})"
    below.suptitle(title, **_HEAD)
    _draw_stages(below, task, run, {"prior": prior, **posteriors}, found)
    return figure


def _title(index: int, rounds: Sequence[int]) -> str:
    return f"round {index}, final" if index == rounds[-1] else f"round {index}"


_HEAD: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "x": 0.01, "ha": "left"}


def _find(results: GridResults) -> Run:
    """The run to show: of PLI with a distance of sets, on a task with an exact posterior."""

    def fits(run: Run) -> bool:
        method = run.built_method
        known = run.experiment == EXPERIMENT and run.snapshots > 0 and get(run.task).has_reference
        measured = isinstance(getattr(method, "discrepancy", None), AbstractMeasuredDiscrepancy)
        return known and measured and isinstance(method, PLI)

    wanted = (
        f'of the experiment "{EXPERIMENT}": PLI with a distance of sets such as MMD and '
        "snapshots = ..., on a task with an exact posterior"
    )
    return results.find(wanted, fits)[0]


def _prior_samples(problem: Problem) -> list[np.ndarray]:
    z = problem.prior.sample(jax.random.key(_SEED), _PRIOR_DRAWS)
    space = problem.prior.space
    return [np.asarray(leaf) for leaf in space.leaves(constrain_all(space, z))]


def examples(
    method: PLI, problem: Problem, task: AbstractTask, stages: Mapping[str, Samples]
) -> list[Example]:
    """The truth, and of each stage the draw with the median distance."""
    names = list(task.truth)
    groups = {source: as_table(s, names)[1][:_CANDIDATES] for source, s in stages.items()}
    groups = {"truth": as_row(task.truth, names)[None], **groups}
    thetas = np.concatenate(list(groups.values()))
    sets, distances = _measured(method, problem, task, thetas)
    found, start = [], 0
    for source, group in groups.items():
        order = np.argsort(distances[start : start + len(group)])
        middle = start + int(order[len(group) // 2])
        found.append(Example(source, thetas[middle], sets[middle], float(distances[middle])))
        start += len(group)
    return found


def _measured(
    method: PLI, problem: Problem, task: AbstractTask, thetas: Float[np.ndarray, "K columns"]
) -> tuple[Float[np.ndarray, "K N d"], Float[np.ndarray, " K"]]:
    """A set for each parameter, with features in a row, and its distance to the observed set."""
    shapes = {name: np.shape(value) for name, value in task.truth.items()}
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    parts = zip(shapes.items(), np.split(thetas, ends[:-1], axis=1), strict=True)
    theta = {name: jnp.asarray(part.reshape(-1, *shape), float) for (name, shape), part in parts}
    z = jax.vmap(problem.prior.space.unconstrain)(theta)
    discrepancy = cast(AbstractMeasuredDiscrepancy, method.discrepancy)
    n_draws = max(problem.n_obs, discrepancy.min_draws)
    scale_key, key = jax.random.split(jax.random.key(_SEED))
    state, _ = discrepancy.init(scale_key, problem, n_draws)
    draws = simulate_sets(key, problem, z, n_draws)
    x = np.asarray(draws.x)
    measure = eqx.filter_jit(state.discrepancy.measure)
    sets = points(problem, draws.x, draws.under, draws.seen)
    distances, _ = measure(state.prepared, sets, jnp.asarray(draws.ok))
    return x.reshape(*x.shape[:2], -1), np.asarray(distances, float)


def pseudo_likelihoods(
    method: PLI, found: Sequence[Example], bandwidths: Mapping[int, float]
) -> dict[str, Float[np.ndarray, " K"]]:
    """``exp(-D / (2 beta_t))`` of the examples for each round's bandwidth, with the sum one."""
    distance = np.array([example.distance for example in found])
    return {
        f"round {index}\n{_bandwidth(value)}": normalise(method.kernel.log_value(distance, value))
        for index, value in bandwidths.items()
    }


def _bandwidth(value: float) -> str:
    return rf"$\beta_t$ = {value:.2g}"


def _colours(n: int) -> list[Any]:
    return list(colormaps["viridis"](np.linspace(0.0, 0.82, n)))


def _draw_sets(
    part: Any, run: Run, observed: Float[np.ndarray, "N *event"], found: Sequence[Example]
) -> None:
    """The observed set, then each simulated set on top of it."""
    across = -(-(len(found) + 1) // 2)
    grid = part.subplots(2, across, squeeze=False, sharex=True, sharey=True)
    columns = _FEATURES.get(run.task, (0, 1))
    sets = [_plane(example.simulated, columns) for example in found]
    real = _plane(observed.reshape(len(observed), -1), columns)
    limits = [axis_limits([real, *sets], None, axis) for axis in (0, 1)]
    size: Any = {"markersize": 2.5 if len(real) > _FEW else 5, "markeredgewidth": 0}
    for axes in grid.flat:
        axes.set(xlim=limits[0], ylim=limits[1])
        axes.plot(*real.T, ".", color=tint(GREY, 0.6), **size)
        bare(axes)
        axes.tick_params(labelsize=6)
        axes.set_xticks(*short_ticks(*limits[0], most=3))
        axes.set_yticks(*short_ticks(*limits[1], most=3))
    grid[0, 0].lines[0].set_color(BLACK)
    grid[0, 0].set_title(f"observed, N = {run.n_obs}", fontsize=7)
    panels = zip(grid.flat[1:], found, sets, _colours(len(found)), strict=False)
    for number, (axes, example, drawn, colour) in enumerate(panels, 1):
        axes.plot(*drawn.T, ".", color=colour, **size)
        title = f"({number}) {example.source}\nD = {example.distance:.2g}"
        axes.set_title(title, fontsize=7, color=colour)
    for axes in grid.flat[len(found) + 1 :]:
        axes.remove()
    for axes in grid[-1]:
        axes.set_xlabel(rf"$x_{{{columns[0] + 1}}}$", fontsize=7)
    for axes in grid[:, 0]:
        axes.set_ylabel(rf"$x_{{{columns[1] + 1}}}$", fontsize=7)


def _plane(x: Float[np.ndarray, "N d"], columns: tuple[int, int]) -> Float[np.ndarray, "N 2"]:
    """Two features of a set; the empirical distribution function of a single one."""
    if x.shape[1] == 1:
        return np.column_stack([np.sort(x[:, 0]), (np.arange(len(x)) + 0.5) / len(x)])
    return x[:, list(columns)]


def _draw_bars(
    axes: Axes, found: Sequence[Example], weights: Mapping[str, Float[np.ndarray, " K"]]
) -> None:
    """A group of bars per bandwidth, one bar per example."""
    width = 0.85 / len(found)
    for place, (example, colour) in enumerate(zip(found, _colours(len(found)), strict=True)):
        x = np.arange(len(weights)) + (place - (len(found) - 1) / 2) * width
        heights = [group[place] for group in weights.values()]
        bars = axes.bar(x, heights, 0.92 * width, color=colour, label=example.source)
        above: Any = {"fontsize": 6, "color": colour, "padding": 1}
        axes.bar_label(bars, [str(place + 1)] * len(weights), **above)
    bare(axes)
    axes.set_xticks(range(len(weights)), list(weights))
    axes.set_ylim(0, 1.12 * max(group.max() for group in weights.values()))
    axes.set_ylabel("pseudo-likelihood (sum: 1)", fontsize=7)


def _draw_stages(
    part: Any, task: AbstractTask, run: Run, shown: Mapping[str, Samples], found: Sequence[Example]
) -> None:
    """Two parameters: draws of the prior, and regions of some rounds and the exact posterior."""
    exact = task.reference(n_obs=run.n_obs, seed=run.seed, n=_PRIOR_DRAWS)
    colour, names = line_style(run.method, [run.method])["color"], list(task.truth)
    columns = list(_PLANES.get(run.task, (0, 1)))
    labels = [symbol(as_table(exact, names)[0][column]) for column in columns]
    stages = [
        Stage(title, as_table(samples, names)[1][:, columns], colour)
        for title, samples in shown.items()
    ]
    stages.append(Stage("exact", as_table(exact, names)[1][:, columns], BLACK))
    truth = as_row(task.truth, names)[columns]
    limits = [axis_limits([stages[0].samples], truth, axis) for axis in (0, 1)]
    marks = dict(zip([example.source for example in found], _colours(len(found)), strict=True))
    thetas = {example.source: example.theta[columns] for example in found}
    for axes, stage in zip(part.subplots(1, len(stages), sharey=True), stages, strict=True):
        _draw_stage(axes, stage, limits, labels, truth)
        if stage.title in marks:
            axes.plot(*thetas[stage.title], "o", color=marks[stage.title], **_DOT)
    part.axes[0].set_ylabel(labels[1], fontsize=7)
    none: Any = {"linestyle": "none"}
    handles: list[Any] = [
        Line2D([], [], label="draws of the prior", **none, **{**_PRIOR, "markersize": 4}),
        *region_handles(colour, "regions"),
        Line2D([], [], label="truth (1)", **none, **_TRUTH),
        Line2D([], [], label="parameter shown above", marker="o", color=GREY, **none, **_DOT),
    ]
    style: Any = {"loc": "outside lower center", "ncols": 5, "fontsize": 7, "frameon": False}
    part.legend(handles=handles, **style)


def _draw_stage(
    axes: Axes,
    stage: Stage,
    limits: Sequence[Limits],
    labels: Sequence[str],
    truth: Float[np.ndarray, "2"],
) -> None:
    if stage.title == "prior":  # the regions of a uniform distribution would be arbitrary
        axes.plot(*stage.samples[:_DOTS].T, linestyle="none", **_PRIOR)
        axes.set(xlim=limits[0], ylim=limits[1])
    else:
        x, y = stage.samples.T
        draw_regions(axes, x, y, (limits[0], limits[1]), colour=stage.colour)
    axes.plot(*truth, linestyle="none", **_TRUTH)
    bare(axes)
    axes.tick_params(labelsize=6)
    axes.set_xticks(*short_ticks(*limits[0], most=4))
    axes.set_yticks(*short_ticks(*limits[1], most=4))
    axes.set_title(stage.title, fontsize=8)
    axes.set_xlabel(labels[0], fontsize=7)
