"""The numbers of the posterior: its table, its marginals beside the prior, draws, and modes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from pliant.densities.base import AbstractDensity
from pliant.densities.particles import ParticleDensity
from pliant.diagnosis.determination import contractions
from pliant.diagnosis.fit import find_modes
from pliant.problem.problem import Problem
from pliant.problem.samples import as_table, thinned
from pliant.problem.space import Space, constrain_all

MOST_PLOTTED = 60
"""Parameters that figures show; tables have all of them."""

_DRAWS, _FEWER, _MANY = 1000, 500, 30  # of each parameter that a page holds; fewer of many
_BINS = 40
_PRIOR_DRAWS = 10_000
_CLUSTERED = 1000
_OUTERMOST = 0.002  # share of the draws on each side that a histogram leaves out


class DrawTable(NamedTuple):
    """Columns by name, in the user's units."""

    names: list[str]
    values: Float[np.ndarray, "n columns"]


def table_of(samples: Mapping[str, Any], space: Space) -> DrawTable:
    """Samples by name as columns, in the order of the prior."""
    return DrawTable(*as_table(samples, space.names))


def prior_draws(problem: Problem) -> DrawTable:
    """Draws of the prior, always the same ones."""
    space = problem.prior.space
    z = problem.prior.sample(jax.random.key(0), _PRIOR_DRAWS)
    return DrawTable(*as_table(constrain_all(space, z), space.names))


def effective_draws(density: AbstractDensity, n: int) -> float:
    """How many independent draws of the posterior ``n`` draws of a density are worth.

    Draws of a fitted density are independent. Those of weighted particles repeat: their mean has
    the error of the particles beside that of drawing them.
    """
    if not isinstance(density, ParticleDensity):
        return float(n)
    return 1 / (1 / n + 1 / float(density.ess))


def posterior_rows(
    draws: DrawTable,
    *,
    effective: float,
    prior: DrawTable | None = None,
    truth: Float[np.ndarray, " columns"] | None = None,
) -> list[dict[str, Any]]:
    """One row per parameter: moments, quantiles, Monte Carlo error, and contraction.

    Args:
        draws: Of the posterior.
        effective: How many independent draws they are worth.
        prior: DrawTable of the prior.
        truth: The true parameters.
    """
    values = draws.values
    quantiles = np.quantile(values, [0.025, 0.05, 0.5, 0.95, 0.975], axis=0)
    spread = values.std(axis=0)
    columns: dict[str, Any] = {
        "mean": values.mean(axis=0),
        "sd": spread,
        **dict(zip(("q025", "q05", "q50", "q95", "q975"), quantiles, strict=True)),
        "mcse": spread / np.sqrt(effective),
    }
    if prior is not None:
        columns["contraction"] = contractions(prior.values, values)
    if truth is not None:
        columns["truth"] = truth
    return [
        {"name": name, **{key: float(column[i]) for key, column in columns.items()}}
        for i, name in enumerate(draws.names)
    ]


def histogram(values: Float[np.ndarray, " n"]) -> dict[str, list[float]]:
    """Edges and heights, of which the largest is one, without the outermost draws."""
    low, high = np.quantile(values, [_OUTERMOST, 1 - _OUTERMOST])
    if not high > low:
        low, high = float(values.min()), float(values.max())
    if not high > low:
        width = max(abs(low) * 1e-3, 1e-9)
        low, high = low - width, high + width
    counts, edges = np.histogram(values, bins=_BINS, range=(low, high))
    return {"edges": rounded(edges), "heights": rounded(counts / max(counts.max(), 1))}


def marginals(
    kinds: Mapping[str, DrawTable], truth: Float[np.ndarray, " columns"] | None
) -> list[dict[str, Any]]:
    """For each of the first parameters: histograms of each kind of draws, and the truth."""
    names = kinds["posterior"].names[:MOST_PLOTTED]
    return [
        {
            "name": name,
            "kinds": {kind: histogram(draws.values[:, i]) for kind, draws in kinds.items()},
            "truth": None if truth is None else float(truth[i]),
        }
        for i, name in enumerate(names)
    ]


def plotted(draws: DrawTable) -> list[list[float]]:
    """Some draws of the first parameters, one list for each of them."""
    columns = draws.values[:, :MOST_PLOTTED]
    return [rounded(column) for column in thinned(columns, n_plotted(columns.shape[1])).T]


def n_plotted(n_columns: int) -> int:
    """How many draws a page holds, so that it stays small."""
    return _DRAWS if n_columns <= _MANY else _FEWER


def mode_labels(samples: Mapping[str, Any], space: Space) -> Int[np.ndarray, " n"]:
    """To which mode each of the draws that a figure shows belongs; -1 for none.

    Modes are looked for among unconstrained parameters. Draws that repeat count once there.
    """
    theta = {name: thinned(np.asarray(array), _CLUSTERED) for name, array in samples.items()}
    flat, _ = space.read(theta if space.names else theta["theta"])
    z = np.asarray(jax.jit(jax.vmap(space.unconstrain))(flat), np.float64)
    usable = np.all(np.isfinite(z), axis=1)
    labels = np.full(len(z), -1)
    different, back = np.unique(z[usable], axis=0, return_inverse=True)
    if len(different) > 2:
        labels[usable] = find_modes(different)[back.ravel()]
    return labels


def mode_rows(
    labels: Int[np.ndarray, " n"], values: Float[np.ndarray, "n columns"], names: list[str]
) -> list[dict[str, Any]]:
    """The share and the centre of each mode, if there are several; the largest first."""
    found = [labels == i for i in range(int(labels.max(initial=-1)) + 1)]
    if len(found) < 2:
        return []
    return [
        {
            "mode": i + 1,
            "share": float(own.mean()),
            "centre": dict(zip(names, np.median(values[own], axis=0).tolist(), strict=True)),
        }
        for i, own in enumerate(found)
    ]


def rounded(values: Any) -> list[Any]:
    """Numbers with five significant digits; None for what is not finite."""
    array = np.asarray(values, np.float64).ravel()
    return [float(f"{x:.5g}") if np.isfinite(x) else None for x in array]
