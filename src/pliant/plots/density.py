"""Smoothed histograms for plots, with a bandwidth that keeps narrow modes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter

_SHARE = 0.2
_WIDTH = 0.50669  # width of the densest fifth of a Gaussian, in standard deviations
_FEWEST_BINS, _MOST_BINS = 80, 500

Limits = tuple[float, float]
"""The ends of an axis."""


class Curve(NamedTuple):
    """The density of one parameter."""

    x: Float[np.ndarray, " bins"]
    density: Float[np.ndarray, " bins"]


class Surface(NamedTuple):
    """The density of two parameters, with the levels of its highest-density regions."""

    x: Float[np.ndarray, " x"]
    y: Float[np.ndarray, " y"]
    density: Float[np.ndarray, "y x"]
    levels: list[float]
    """Ascending: smaller regions have higher levels."""


def smooth_curve(x: Float[np.ndarray, " n"], limits: Limits) -> Curve:
    """The density of ``x`` between ``limits``; its integral is the share of ``x`` there."""
    width = 0.9 * _width(x, dim=1)
    bins = _bins(limits, width)
    counts, edges = np.histogram(x, bins, limits)
    step = edges[1] - edges[0]
    density = gaussian_filter(counts / (len(x) * step), width / step, mode="constant")
    return Curve(_centres(edges), density)


def smooth_surface(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    limits: tuple[Limits, Limits],
    shares: tuple[float, ...],
) -> Surface:
    """The density of ``(x, y)`` between ``limits``, and the levels of regions with ``shares``."""
    widths = [_width(values, dim=2) for values in (x, y)]
    bins = [_bins(*pair) for pair in zip(limits, widths, strict=True)]
    counts, x_edges, y_edges = np.histogram2d(x, y, bins, limits)
    steps = (x_edges[1] - x_edges[0], y_edges[1] - y_edges[0])
    sigmas = [width / step for width, step in zip(widths, steps, strict=True)]
    share = gaussian_filter(counts / len(x), sigmas, mode="constant")
    levels = [_level(share, wanted) for wanted in sorted(shares, reverse=True)]
    return Surface(_centres(x_edges), _centres(y_edges), share.T, levels)


def _width(x: Float[np.ndarray, " n"], dim: int) -> float:
    """Silverman's rule for the distinct values, as the particles of a sampler repeat."""
    distinct = np.unique(x)
    return _spread(distinct) * len(distinct) ** (-1 / (dim + 4))


def _spread(x: Float[np.ndarray, " n"]) -> float:
    """The smaller of the standard deviation and that of the densest part.

    With several modes, the former would blur each of them.
    """
    ordered = np.sort(x)
    reach = max(1, int(_SHARE * len(x)))
    densest = np.min(ordered[reach:] - ordered[:-reach]) / _WIDTH if len(x) > reach else 0.0
    overall = float(np.std(x))
    return min(densest, overall) if densest > 0 else overall


def _bins(limits: Limits, width: float) -> int:
    wanted = 2 * (limits[1] - limits[0]) / width if width > 0 else _MOST_BINS
    return int(np.clip(np.ceil(wanted), _FEWEST_BINS, _MOST_BINS))


def _centres(edges: Float[np.ndarray, " edges"]) -> Float[np.ndarray, " bins"]:
    return (edges[1:] + edges[:-1]) / 2


def _level(share: Float[np.ndarray, "x y"], wanted: float) -> float:
    """The density above which the cells hold the share ``wanted``."""
    ordered = np.sort(share, axis=None)[::-1]
    index = int(np.searchsorted(np.cumsum(ordered), wanted))
    return float(ordered[min(index, ordered.size - 1)])
