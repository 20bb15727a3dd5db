"""The pair plot: the marginal of each parameter, and highest-density regions of each pair."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pliant.plots.density import Limits, smooth_curve
from pliant.plots.regions import DARK, LIGHT, axis_limits, draw_regions
from pliant.plots.style import (
    BLACK,
    BLUE,
    VERMILLION,
    bare,
    corner,
    label_corner,
    new_figure,
    readable,
    short_ticks,
    tint,
)
from pliant.problem.samples import as_table

_MOST_COLUMNS = 12
_LONGEST_TITLE = 100  # characters
_HIGHEST = 5  # a peak is cut at this multiple of the other one, to keep both visible


def plot_pairs(
    samples: Any,
    *,
    truth: Any = None,
    reference: Any = None,
    reference_name: str = "reference",
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """A corner plot: marginals on the diagonal, 50 % and 90 % regions of pairs below.

    At most twelve columns are drawn, which the title notes; ``names`` selects others.

    Args:
        samples: Name to ``(n, *shape)``, or one array, as returned by ``Posterior.sample``.
            Samples that are not finite are left out; the title states their number.
        truth: The true parameters in the same form, without the axis of samples.
        reference: Samples to compare with, such as those of the exact posterior.
        reference_name: What the legend calls them.
        names: The parameters to draw, in this order; all by default. A vector gives one column
            per entry.
        title: A line above the plot.

    Returns:
        A figure without a window: ``figure.savefig("pairs.png")``.

    Raises:
        ValueError: If the truth or the reference has other parameters than the samples.
    """
    order = list(samples) if names is None and isinstance(samples, Mapping) else names
    labels, posterior = _read("samples", samples, order)
    exact = true = None
    if reference is not None:
        exact = _matching("reference", reference, order, labels)
    if truth is not None:
        true = _matching("truth", _with_axis(truth), order, labels)[0]
    notes = [] if title is None else [readable(title, longest=_LONGEST_TITLE)]
    if len(labels) > _MOST_COLUMNS:
        notes.append(f"the first {_MOST_COLUMNS} of {len(labels)} parameters")
    finite = np.all(np.isfinite(posterior), axis=1)
    if not np.all(finite):
        notes.append(f"{np.sum(~finite):,} of {finite.size:,} samples are not finite and left out")
    if not np.any(finite):
        raise ValueError("samples: none of them is finite, so there is nothing to draw.")
    data = _PairData(posterior[finite], exact, true, readable(reference_name))
    return _draw(labels[:_MOST_COLUMNS], data, notes)


class _PairData(NamedTuple):
    posterior: Float[np.ndarray, "n columns"]
    reference: Float[np.ndarray, "m columns"] | None
    truth: Float[np.ndarray, " columns"] | None
    reference_name: str


def _read(role: str, samples: Any, order: Sequence[str] | None) -> tuple[list[str], np.ndarray]:
    """The table of the parameters in ``order``; None if the samples have no names."""
    if order is not None:
        found = list(samples) if isinstance(samples, Mapping) else []
        if not order or not set(order) <= set(found):
            raise ValueError(f"{role}: expected the parameters {list(order)}, got {found}.")
        samples = {name: samples[name] for name in order}
    return as_table(samples)


def _matching(
    role: str, samples: Any, order: Sequence[str] | None, labels: list[str]
) -> Float[np.ndarray, "n columns"]:
    found, values = _read(role, samples, order)
    if found != labels:
        raise ValueError(f"{role}: expected the columns {labels}, got {found}.")
    return values


def _with_axis(theta: Any) -> Any:
    if isinstance(theta, Mapping):
        return {name: np.asarray(value)[None] for name, value in theta.items()}
    return np.asarray(theta)[None]


def _draw(labels: list[str], data: _PairData, notes: list[str]) -> Figure:
    n = len(labels)
    side = 3.2 if n == 1 else max(1.15, min(2.0, 9.0 / n))
    figure = new_figure(max(4.2, n * side), max(3.0, n * side))
    tables = [data.posterior] if data.reference is None else [data.posterior, data.reference]
    limits = [axis_limits(tables, data.truth, column) for column in range(n)]
    for row, column, axes in corner(figure, n):
        if row == column:
            _draw_marginal(axes, data, row, limits[row])
        else:
            _draw_pair(axes, data, column, row, (limits[column], limits[row]))
        bare(axes)
        find_ticks = partial(short_ticks, most=3 if n > 1 else 7)
        label_corner(axes, labels, row, column, find_ticks, fontsize=9)
    if n == 1:
        figure.axes[0].tick_params(axis="x", labelrotation=0)
        figure.axes[0].set_ylabel("density", fontsize=9)
    figure.align_labels()
    _legend(figure, figure.axes[0], data)
    if notes:
        figure.suptitle("; ".join(notes), fontsize=9)
    return figure


def _draw_marginal(axes: Axes, data: _PairData, column: int, limits: Limits) -> None:
    curve = smooth_curve(data.posterior[:, column], limits)
    axes.fill_between(*curve, color=BLUE, alpha=0.35, linewidth=0)
    axes.plot(*curve, color=BLUE, linewidth=0.8)
    peaks = [curve.density.max()]
    if data.reference is not None:
        exact = smooth_curve(data.reference[:, column], limits)
        axes.plot(*exact, color=VERMILLION, linewidth=1.0)
        peaks.append(exact.density.max())
    if data.truth is not None:
        axes.axvline(data.truth[column], color=BLACK, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_xlim(*limits)
    axes.set_ylim(0, 1.06 * min(max(peaks), _HIGHEST * min(peaks)))


def _draw_pair(axes: Axes, data: _PairData, x: int, y: int, limits: tuple[Limits, Limits]) -> None:
    draw_regions(axes, data.posterior[:, x], data.posterior[:, y], limits, colour=BLUE)
    if data.reference is not None:
        exact = data.reference[:, x], data.reference[:, y]
        draw_regions(axes, *exact, limits, colour=VERMILLION, filled=False)
    if data.truth is not None:
        axes.plot(data.truth[x], data.truth[y], "+", color=BLACK, markersize=6, markeredgewidth=1)


def _legend(figure: Figure, corner: Axes, data: _PairData) -> None:
    handles: list[Any] = [Patch(color=tint(BLUE, DARK), label="posterior, 50 %")]
    handles.append(Patch(color=tint(BLUE, LIGHT), label="posterior, 90 %"))
    if len(figure.axes) == 1:
        handles = [Patch(color=tint(BLUE, 0.35), label="posterior")]
    if data.reference is not None:
        handles.append(Line2D([], [], color=VERMILLION, linewidth=1, label=data.reference_name))
    if data.truth is not None:
        style: dict[str, Any] = {"color": BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
        if len(figure.axes) > 1:
            style |= {"marker": "+", "markersize": 6}
        handles.append(Line2D([], [], label="truth", **style))
    options: dict[str, Any] = {"handles": handles, "fontsize": 8, "frameon": False}
    if len(figure.axes) == 1:
        corner.legend(loc="upper right", **options)
    else:
        corner.legend(loc="upper left", bbox_to_anchor=(1.05, 1.05), **options).set_in_layout(False)
