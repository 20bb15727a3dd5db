"""Exact samples of a two-dimensional density, by rejection in the cells of an adaptive grid."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from pliant.tasks.rejection import collect

LogDensity = Callable[[Float[np.ndarray, "m 2"]], Float[np.ndarray, " m"]]
Region = Callable[[Float[np.ndarray, "m 2"]], Bool[np.ndarray, " m"]]

_START = 32  # cells along each axis at first
_TOLERANCES = (1.0, 0.5, 0.25, 0.125)  # on the spread of log f in a cell; tried in turn
_MARGIN = 0.25  # a cell's bound on log f: its largest value plus this share of its spread
_NEGLIGIBLE = 20.0  # cells this far below the peak, with less than 1e-7 of the mass, are dropped
_MOST_LEVELS = 80


def sample_grid(
    log_density: LogDensity,
    lower: Float[np.ndarray, "2"],
    upper: Float[np.ndarray, "2"],
    *,
    n: int,
    rng: np.random.Generator,
    inside: Region | None = None,
) -> Float[np.ndarray, "n 2"]:
    """``n`` independent samples of the density ``f`` on a rectangle, or on a region within it.

    Cells are halved until ``log f`` varies little in each: by less than one unit near the peak,
    and by more where ``f`` is small and proposals are rare. A cell is drawn with probability
    proportional to its area times a bound on ``f``; a proposal is uniform in the cell and accepted
    with the probability ``f`` over the bound. The grid determines the speed, not the exactness: if
    a bound is exceeded, a finer grid is made.

    Args:
        log_density: ``log f`` up to a constant, finite and smooth. A mode narrower than a cell of
            the first grid (1/32 of a side) is found if its slopes show half a cell away.
        lower: The corner of the rectangle with the lowest coordinates.
        upper: The corner with the highest.
        n: The number of samples.
        rng: The source of randomness.
        inside: Whether points are in the region; None for the whole rectangle. Others are
            rejected, so the region should have a good share of the mass of ``f``.

    Raises:
        RuntimeError: If ``f`` exceeds the bounds of every grid, as it is not smooth, or if almost
            every proposal is rejected.
    """
    for tolerance in _TOLERANCES:
        cells = _refine(log_density, lower, upper, tolerance)
        try:
            return collect(partial(_propose, log_density, inside, cells, rng), n)
        except _ExceededError:
            continue
    raise RuntimeError("The density exceeds its bounds: it is not smooth on the scale of the grid.")


class _Cells(NamedTuple):
    """The cells that hold the mass of the density."""

    corner: Float[np.ndarray, "cells 2"]
    size: Float[np.ndarray, "cells 2"]
    bound: Float[np.ndarray, " cells"]
    """On ``log f``."""


class _ExceededError(Exception):
    """A proposal exceeded the bound of its cell: the grid is too coarse."""


def _propose(
    log_density: LogDensity,
    inside: Region | None,
    cells: _Cells,
    rng: np.random.Generator,
    m: int,
) -> Float[np.ndarray, "accepted 2"]:
    mass = np.cumsum(np.prod(cells.size, axis=1) * np.exp(cells.bound - cells.bound.max()))
    cell = np.searchsorted(mass, mass[-1] * rng.random(m), side="right")
    theta = cells.corner[cell] + cells.size[cell] * rng.random((m, 2))
    excess = log_density(theta) - cells.bound[cell]
    if excess.max() > 0:
        raise _ExceededError
    accepted = np.log(rng.random(m)) < excess
    return theta[accepted if inside is None else accepted & inside(theta)]


def _refine(
    log_density: LogDensity, lower: np.ndarray, upper: np.ndarray, tolerance: float
) -> _Cells:
    """Halve cells until ``log f`` varies little in each.

    A cell carries ``log f`` on a lattice of 3 x 3 points.
    """
    step = (upper - lower) / (2 * _START)
    axis = np.arange(2 * _START + 1)
    points = lower + step * np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    values = log_density(points.reshape(-1, 2)).reshape(len(axis), len(axis))
    values = np.lib.stride_tricks.sliding_window_view(values, (3, 3))[::2, ::2].reshape(-1, 3, 3)
    corner = points[:-1:2, :-1:2].reshape(-1, 2)
    size = np.broadcast_to(2 * step, corner.shape)
    peak = -np.inf
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for _ in range(_MOST_LEVELS):
        top, spread = values.max(axis=(1, 2)), np.ptp(values, axis=(1, 2))
        peak = max(peak, top.max())
        matters = top + spread / 2 > peak - _NEGLIGIBLE  # log f may be higher between the points
        fine = matters & (spread < tolerance * (1 + (peak - top) / 3))
        done.append((corner[fine], size[fine], top[fine] + _MARGIN * spread[fine]))
        coarse = matters & ~fine
        if not np.any(coarse):
            break
        corner, size, values = _halve(log_density, corner[coarse], size[coarse], values[coarse])
    else:
        raise RuntimeError(f"The density still varies within {len(corner)} cells of its grid.")
    return _Cells(*(np.concatenate(parts) for parts in zip(*done, strict=True)))


def _halve(
    log_density: LogDensity, corner: np.ndarray, size: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Halve cells along the axis in which ``log f`` varies most.

    A lattice of 5 x 3 points serves both halves; six of the points are new.
    """
    m = len(corner)
    variation = np.stack([np.ptp(values, axis=a).max(axis=1) for a in (1, 2)], axis=1)
    across = variation[:, 0] < variation[:, 1]  # along the second axis
    cut = np.eye(2)[across.astype(int)]  # the axis as a unit vector
    lattice = np.empty((m, 5, 3))
    lattice[:, ::2] = np.where(across[:, None, None], values.swapaxes(1, 2), values)
    along, beside = np.meshgrid([0.25, 0.75], [0.0, 0.5, 1.0], indexing="ij")
    place = along.ravel()[:, None] * cut[:, None] + beside.ravel()[:, None] * (1 - cut[:, None])
    points = corner[:, None] + size[:, None] * place
    lattice[:, 1::2] = log_density(points.reshape(-1, 2)).reshape(m, 2, 3)
    halves = np.concatenate([lattice[:, :3], lattice[:, 2:]])
    half = size * (1 - cut / 2)
    return (
        np.concatenate([corner, corner + cut * half]),
        np.concatenate([half, half]),
        np.where(np.tile(across, 2)[:, None, None], halves.swapaxes(1, 2), halves),
    )
