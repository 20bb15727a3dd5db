"""The pendulum: how its posterior evolves, what it predicts, and its error by N."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pliant.bench.drawings.metrics import EXPERIMENT, draw_panel
from pliant.bench.drawings.style import (
    WIDTH,
    evenly_spaced,
    line_style,
    method_handles,
    ordered_methods,
    region_handles,
)
from pliant.bench.plan import Run
from pliant.bench.results import GridResults, Samples
from pliant.plots.regions import draw_regions
from pliant.plots.style import BLACK, bare, new_figure, readable, short_ticks
from pliant.plots.trajectories import draw_trajectories
from pliant.tasks import get
from pliant.tasks.furuta import FurutaTask

SNAPSHOTS = "snapshots"
_SHOWN_ROUNDS = 4
_DRAWS = 200  # posterior draws per plot of motions
_SECONDS = np.arange(1, 101) * 0.01
_STATE_SEED = 3  # of the initial state of all motions


def draw_furuta(results: GridResults) -> Figure:
    """Snapshots of g and m_p, synchronised motions below them, and the accumulated error."""
    runs = results.find(
        f'of the experiment "{SNAPSHOTS}" on furuta with snapshots = ...',
        lambda run: (run.experiment, run.task) == (SNAPSHOTS, "furuta") and run.snapshots > 0,
    )
    run = max(runs, key=lambda run: run.n_obs)
    snapshots = results.snapshots(run)
    shown = evenly_spaced(sorted(snapshots), _SHOWN_ROUNDS)
    figure = new_figure(WIDTH, 3.5)
    left, right = cast(Any, figure.subfigures(1, 2, width_ratios=[2.6, 1]))
    grid = left.subplots(2, len(shown), squeeze=False)
    task = cast(FurutaTask, get("furuta"))
    colour = line_style(run.method, [run.method])["color"]
    for column, index in enumerate(shown):
        _draw_plane(grid[0, column], task, snapshots[index], colour)
        _draw_motion(grid[1, column], task, snapshots[index], colour)
        grid[0, column].set_title(f"round {index}", fontsize=8)
    lows, highs = zip(*(axes.get_ylim() for axes in grid[1]), strict=True)
    for axes in grid[1]:
        axes.set_ylim(min(lows), max(highs))
    for axes in grid[:, 1:].flat:
        axes.tick_params(labelleft=False)
    grid[0, 0].set_ylabel(r"$m_p$, kg", fontsize=7)
    grid[1, 0].set_ylabel(r"$\sin\,\theta_r$", fontsize=7)
    _legend(left, run, colour)
    _draw_errors(right, results)
    return figure


def _draw_plane(axes: Axes, task: FurutaTask, samples: Samples, colour: str) -> None:
    """Regions of g and m_p on the prior's range."""
    prior: dict[str, Any] = task.prior
    bounds = [(float(prior[name].low), float(prior[name].high)) for name in ("g", "m_p")]
    draw_regions(axes, samples["g"], samples["m_p"], (bounds[0], bounds[1]), colour=colour)
    axes.plot(float(task.truth["g"]), float(task.truth["m_p"]), "+", color=BLACK, markersize=6)
    bare(axes)
    axes.tick_params(labelsize=6)
    axes.set_xticks(*short_ticks(*bounds[0], most=3))
    axes.set_yticks(*short_ticks(*bounds[1], most=5))
    axes.set_xlabel("g, m/s²", fontsize=7)


def _draw_motion(axes: Axes, task: FurutaTask, samples: Samples, colour: str) -> None:
    """The arm's angle from one initial state, for posterior draws and for the truth."""
    state = task.initial_state(jax.random.key(_STATE_SEED))
    drawn = {name: jnp.asarray(leaf[:_DRAWS], float) for name, leaf in samples.items()}
    predicted = np.asarray(_motions(task, drawn, state)[:, :, 0])
    true = np.asarray(task.rollout(task.truth, state)[:, 0])
    draw_trajectories(axes, _SECONDS, predicted, true, colour=colour)
    bare(axes)
    axes.tick_params(labelsize=6)
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    axes.set_xlabel("time, s", fontsize=7)


@jax.jit
def _motions(task: FurutaTask, theta: Any, state: Float[Array, "4"]) -> Float[Array, "K 100 6"]:
    return jax.vmap(lambda one: task.rollout(one, state))(theta)


def _draw_errors(part: Any, results: GridResults) -> None:
    wanted = EXPERIMENT, "rollout error"
    rows = [row for row in results.summary if (row["experiment"], row["metric"]) == wanted]
    axes = part.subplots()
    if not rows:
        axes.set_axis_off()
        return
    methods = ordered_methods(row["method"] for row in rows)
    draw_panel(axes, rows, methods)
    axes.set_xlabel("observations N", fontsize=7)
    axes.set_title("mean accumulated error", fontsize=8)
    handles = method_handles(methods, linewidth=1.2, markersize=3.5)
    part.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=6, frameon=False)


def _legend(part: Any, run: Run, colour: str) -> None:
    dashed: Any = {"color": BLACK, "linewidth": 0.9, "linestyle": (0, (3, 2)), "marker": "+"}
    handles: list[Any] = region_handles(colour, f"{readable(run.method)}, N = {run.n_obs}")
    handles.append(Line2D([], [], label="truth", **dashed))
    part.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
