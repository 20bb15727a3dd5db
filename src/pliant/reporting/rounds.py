"""The numbers of a run's rounds: a table of all columns, and panels of those that are drawn."""

from typing import Any, NamedTuple

import numpy as np

from pliant.methods.base import AbstractMethod
from pliant.run.history import COLUMNS, Column, History


class RoundsPanel(NamedTuple):
    """Quantities that one figure shows by round."""

    title: str
    columns: tuple[str, ...]
    """Those of the history; the first has to be there."""
    error: str = ""
    """The column of the first one's standard error, shown as a band."""
    limit: str = ""
    """What a line shows: ``target``, ``epsilon`` or ``noise_limit``."""


PANELS = {
    "bandwidth": RoundsPanel("Bandwidth", ("bandwidth",), limit="target"),
    "kl": RoundsPanel("KL from the last posterior, nats", ("kl",), limit="epsilon"),
    "ess": RoundsPanel("Effective sample size of the weights", ("ess",)),
    "acceptance": RoundsPanel("Share of accepted proposals", ("acceptance",)),
    "distance": RoundsPanel("Distances", ("distance_median", "distance_min"), error="distance_se"),
    "noise": RoundsPanel(
        "Share of noise in the distances' variance", ("noise_share",), limit="noise_limit"
    ),
    "net_loss": RoundsPanel("Loss of the networks, held-out draws", ("net_loss",)),
    "held_out": RoundsPanel("Held-out loss of the fit", ("held_out",)),
    "error": RoundsPanel("Disagreement of the networks, nats", ("log_likelihood_se",)),
    "level": RoundsPanel("Share of the log-likelihood in the posterior", ("level",)),
    "usable": RoundsPanel("Share of usable draws", ("usable",)),
}
"""The figures of a history. One whose numbers a run did not record is left out."""


def history_table(history: History) -> dict[str, Any]:
    """Heads with their meanings, and the texts of all rounds."""
    columns = history.filled
    known = {name: COLUMNS.get(name, Column(name, "")) for name in columns}
    return {
        "heads": [known[name].label for name in columns],
        "meanings": [known[name].meaning for name in columns],
        "cells": history.cells(columns),
    }


def history_panels(history: History, method: AbstractMethod | None) -> list[dict[str, Any]]:
    """For each panel its lines, its band, its limit, and whether all numbers are positive."""
    found = []
    for name, panel in PANELS.items():
        present = [c for c in panel.columns if c in history.columns and _any(history[c])]
        if not present or present[0] != panel.columns[0]:
            continue
        lines = {column: _numbers(history[column]) for column in present}
        error = _numbers(history[panel.error]) if panel.error in history.columns else None
        found.append(
            {
                "name": name,
                "title": panel.title,
                "rounds": [int(row.get("round", i + 1)) for i, row in enumerate(history)],
                "lines": [
                    {"column": c, "label": COLUMNS[c].label, "values": lines[c]} for c in present
                ],
                "error": error if error is not None and any(x is not None for x in error) else None,
                "limit": _limit(panel.limit, history, method),
                "limit_label": panel.limit.replace("_", " "),
                "positive": all(x > 0 for line in lines.values() for x in line if x is not None),
            }
        )
    return found


def _limit(name: str, history: History, method: AbstractMethod | None) -> float | None:
    if name == "target":
        if "eta" not in history.columns:
            return None
        ratios = _floats(history["bandwidth"]) / (1 + _floats(history["eta"]))
        return float(np.nanmedian(ratios)) if np.any(np.isfinite(ratios)) else None
    if name == "epsilon":
        value = getattr(getattr(method, "schedule", None), "epsilon", None)
    else:
        value = getattr(method, "noise_limit", None) if name else None
    return None if value is None else float(value)


def _floats(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float64)


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in _floats(values)]


def _any(values: np.ndarray) -> bool:
    try:
        return bool(np.any(np.isfinite(_floats(values))))
    except (TypeError, ValueError):  # a column of texts, which a method of a user's own wrote
        return False
