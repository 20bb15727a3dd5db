"""Pictures of a diagnosis: ranks, coverage, unexplained observations, predictive intervals."""

import math
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom

from pliant.diagnosis.calibration import Calibration
from pliant.diagnosis.observations import ObservationTable
from pliant.diagnosis.p_values import LIMIT
from pliant.diagnosis.predictive import Predictive
from pliant.plots.style import BLACK, BLUE, GREY, VERMILLION, bare, new_figure, readable, tint

if TYPE_CHECKING:
    from pliant.diagnosis.diagnosis import Diagnosis

_MOST_LINES = 12  # parameters that are drawn
_MOST_STATISTICS = 12
_MOST_NAMED = 6  # observations with their numbers
_GRID = np.linspace(0, 1, 101)
_SIGNIFICANT = 3.0


def diagnosis_figure(diagnosis: "Diagnosis") -> Figure:
    """Four panels; one that has nothing to show says so."""
    figure = new_figure(9.0, 6.6)
    axes = figure.subplots(2, 2)
    ranks_panel(axes[0, 0], diagnosis.calibration)
    coverage_panel(axes[0, 1], diagnosis.calibration)
    observations_panel(axes[1, 0], diagnosis.observations)
    predictive_panel(axes[1, 1], diagnosis.predictive)
    figure.suptitle(f"{diagnosis.verdict}: {diagnosis.verdict.meaning}", fontsize=10)
    return figure


def ranks_panel(axes: Axes, calibration: Calibration | None) -> None:
    """The ECDF of the ranks minus that of uniform ones, with its 99 % band for all ranks."""
    _title(axes, "Ranks of true parameters", "rank", "ECDF difference")
    if calibration is None:
        _nothing(axes)
        return
    n = len(calibration.ranks)
    low, high = rank_band(n)
    axes.fill_between(_GRID, low, high, color=tint(GREY, 0.3), lw=0)
    axes.axhline(0, color=GREY, lw=0.6)
    lines = rank_lines(calibration.ranks)
    for name, ecdf in list(zip(calibration.names, lines, strict=True))[:_MOST_LINES]:
        outside = bool(np.any((ecdf < low - 1e-9) | (ecdf > high + 1e-9)))
        colour = VERMILLION if outside else BLUE
        label = readable(name) if outside else None
        axes.plot(_GRID, ecdf, color=colour, lw=1, label=label)
    _legend(axes)


def rank_lines(ranks: Float[np.ndarray, "n columns"]) -> Float[np.ndarray, "columns 101"]:
    """The ECDF of each column's ranks minus that of uniform ones, on a grid from 0 to 1.

    Both ends are zero: a rank of exactly 0 is no deviation.
    """
    n = len(ranks)
    lines = [np.searchsorted(np.sort(r), _GRID, side="right") / n - _GRID for r in ranks.T]
    lines = np.stack(lines)
    lines[:, [0, -1]] = 0.0
    return lines


def rank_band(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the ECDF difference of n uniform ranks stays, at every point together, in 99 of 100.

    Pointwise binomial quantiles, at a level that 1000 simulated sets of ranks find.
    """
    rng = np.random.default_rng(0)
    ranks = np.sort(rng.random((1000, n)), axis=1)
    counts = np.stack([np.searchsorted(row, _GRID, side="right") for row in ranks])
    inner = slice(1, -1)
    lower = binom.cdf(counts[:, inner], n, _GRID[inner])
    upper = binom.sf(counts[:, inner] - 1, n, _GRID[inner])
    level = np.quantile(np.minimum(lower, upper).min(axis=1), 0.01)
    low, high = binom.ppf(level, n, _GRID) / n, binom.ppf(1 - level, n, _GRID) / n
    low[[0, -1]], high[[0, -1]] = (0, 1), (0, 1)
    return low - _GRID, high - _GRID


def coverage_panel(axes: Axes, calibration: Calibration | None) -> None:
    """How often central intervals cover the truth, against how often they should."""
    _title(axes, "Coverage of central intervals", "nominal", "observed")
    if calibration is None:
        _nothing(axes)
        return
    n = len(calibration.ranks)
    band = [binom.ppf(p, n, _GRID) / n for p in (0.005, 0.995)]
    axes.fill_between(_GRID, band[0], band[1], color=tint(GREY, 0.3), lw=0)
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.6)
    for ranks in calibration.ranks.T[:_MOST_LINES]:
        inside = np.sort(2 * np.abs(ranks - 0.5))
        covered = np.searchsorted(inside, _GRID, side="right") / n
        axes.plot(_GRID, covered, color=BLUE, lw=1)


def observations_panel(axes: Axes, table: ObservationTable | None) -> None:
    """The p-values of all observations, sorted, against those of a sound model."""
    _title(axes, "Single observations", "expected p-value", "p-value")
    if table is None:
        _nothing(axes)
        return
    n = len(table.index)
    expected = (np.arange(n) + 0.5) / n
    accused = table.adjusted < LIMIT
    floor = 10.0 ** max(-12, math.floor(math.log10(max(float(table.p_value.min()), 1e-12))))
    p = np.maximum(table.p_value, floor)
    axes.plot(expected, expected, color=GREY, lw=0.6)
    axes.scatter(expected[~accused], p[~accused], s=8, color=BLUE)
    axes.scatter(expected[accused], p[accused], s=14, color=VERMILLION)
    for i in np.flatnonzero(accused)[:_MOST_NAMED]:
        place = expected[i], p[i]
        axes.annotate(f" {table.index[i]}", place, fontsize=7, color=VERMILLION, va="center")
    axes.set_xscale("log")
    axes.set_yscale("log")


def predictive_panel(axes: Axes, found: Predictive | None) -> None:
    """The statistics that deviate most, in standard deviations of simulated sets."""
    _title(axes, "Statistics of the observed set", "standard deviations from simulated sets", "")
    if found is None:
        _nothing(axes)
        return
    worst = np.argsort(-np.abs(found.deviation))[:_MOST_STATISTICS][::-1]
    values = np.clip(found.deviation[worst], -12, 12)
    colours = [VERMILLION if abs(v) > _SIGNIFICANT else BLUE for v in values]
    axes.axvspan(-2, 2, color=tint(GREY, 0.3), lw=0)
    axes.scatter(values, np.arange(len(worst)), color=colours, s=14, zorder=2)
    names = [readable(found.names[i], longest=44) for i in worst]
    axes.set_yticks(np.arange(len(worst)), names, fontsize=6)
    edge = max(4.0, float(np.abs(values).max()) * 1.1)
    axes.set_xlim(-edge, edge)


def _title(axes: Axes, title: str, x: str, y: str) -> None:
    bare(axes)
    axes.set_title(title, fontsize=9, loc="left", color=BLACK)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)


def _nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "does not apply", ha="center", va="center", color=GREY, fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
