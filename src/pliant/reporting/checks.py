"""The numbers of a diagnosis, from what ``Diagnosis.as_dict`` returned or its file holds.

A file may come from a stranger, so everything is checked: numbers are numbers, texts are texts,
and all columns of a table have one length.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from pliant.diagnosis.figures import rank_band, rank_lines
from pliant.diagnosis.finding import Level, Verdict
from pliant.diagnosis.p_values import LIMIT

MOST_STATISTICS, MOST_OBSERVATIONS, MOST_LINES = 40, 100, 12
"""Rows of tables, and parameters whose ranks are drawn: the worst ones."""

_POINTS = 400  # observations that are drawn
_GRID = np.linspace(0, 1, 101)


def checks_of(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """Verdict, findings, statistics, observations and calibration.

    Raises:
        ValueError: If these are not the data of a diagnosis.
    """
    try:
        return {
            "verdict": str(Verdict(diagnosis["verdict"])),
            "meaning": Verdict(diagnosis["verdict"]).meaning,
            "findings": [_finding(finding) for finding in diagnosis["findings"]],
            "predictive": _optional(_predictive, diagnosis["predictive"]),
            "observations": _optional(_observations, diagnosis["observations"]),
            "calibration": _optional(_calibration, diagnosis["calibration"]),
        }
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"diagnosis: expected that of pliant.diagnose ({error}).") from error


def _optional(read: Any, data: Any) -> Any:
    return None if data is None else read(data)


def _finding(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "check": _text(data["check"]),
        "level": str(Level(data["level"])),
        "text": _text(data["text"]),
        "remedy": _text(data["remedy"]),
        "number": _number(data["number"]),
        "limit": _number(data["limit"]),
    }


def _predictive(data: Mapping[str, Any]) -> dict[str, Any]:
    """The statistics that deviate most, and the shares of observations within intervals."""
    names = list(map(_text, data["names"]))
    columns = {key: _array(data[key], len(names)) for key in ("observed", "low", "high")}
    columns["deviation"] = _array(data["deviation"], len(names))
    size = np.where(np.isfinite(columns["deviation"]), np.abs(columns["deviation"]), np.inf)
    worst = np.argsort(-size, kind="stable")[:MOST_STATISTICS]
    features = list(map(_text, data["features"]))
    covered = _array(data["covered"], len(features), 2)
    return {
        "p_value": _number(data["p_value"]),
        "n": len(names),
        "rows": [
            {"name": names[i], **{key: _finite(column[i]) for key, column in columns.items()}}
            for i in worst
        ],
        "n_features": len(features),
        "covered": [
            {"feature": name, "half": _finite(row[0]), "most": _finite(row[1])}
            for name, row in list(zip(features, covered, strict=True))[:MOST_STATISTICS]
        ],
    }


def _observations(data: Mapping[str, Any]) -> dict[str, Any]:
    """The least likely observations, and points of all of them for a figure."""
    index = [int(i) for i in data["index"]]
    n = len(index)
    p, adjusted = _array(data["p_value"], n), _array(data["adjusted"], n)
    influence = _array(data["influence"], n)
    moved = {_text(name): _array(column, n) for name, column in data["moved"].items()}
    shown = np.unique(np.round(np.geomspace(1, max(n, 1), _POINTS)).astype(int)) - 1
    return {
        "n": n,
        "accused": int(np.sum(adjusted < LIMIT)),
        "rows": [
            {
                "index": index[i],
                "p_value": _finite(p[i]),
                "adjusted": _finite(adjusted[i]),
                "influence": _finite(influence[i]),
                "parameter": _most_moved(moved, i),
            }
            for i in range(min(n, MOST_OBSERVATIONS))
        ],
        "points": [
            {
                "index": index[i],
                "expected": (i + 0.5) / n,
                "p_value": _finite(p[i]),
                "accused": bool(adjusted[i] < LIMIT),
            }
            for i in shown[shown < n].tolist()
        ],
    }


def _most_moved(moved: Mapping[str, np.ndarray], row: int) -> str:
    """The parameter whose mean an observation moves most; empty if nobody knows."""
    sizes = {name: abs(column[row]) for name, column in moved.items() if np.isfinite(column[row])}
    return max(sizes, key=lambda name: sizes[name]) if sizes else ""


def _calibration(data: Mapping[str, Any]) -> dict[str, Any]:
    """Coverage, shift and width of every parameter, and the ranks of those that are worst."""
    names, levels = list(map(_text, data["names"])), [float(x) for x in data["levels"]]
    ranks = _array(data["ranks"], len(data["ranks"]), len(names))
    shift, width = _array(data["shift"], len(names)), _array(data["width"], len(names))
    coverage = _array(data["coverage"], len(names), len(levels), 3)
    n = len(ranks)
    low, high = rank_band(n)
    lines = rank_lines(ranks)
    worst = np.argsort(-np.abs(lines).max(axis=1), kind="stable")[:MOST_LINES]
    outside = np.any((lines < low - 1e-9) | (lines > high + 1e-9), axis=1)
    return {
        "n": n,
        "levels": levels,
        "rows": [
            {
                "name": name,
                "shift": _finite(shift[i]),
                "width": _finite(width[i]),
                "coverage": [[_finite(x) for x in cell] for cell in coverage[i]],
                "outside": bool(outside[i]),
            }
            for i, name in enumerate(names)
        ],
        "grid": _GRID.round(2).tolist(),
        "band": [low.round(5).tolist(), high.round(5).tolist()],
        "lines": [
            {"name": names[i], "outside": bool(outside[i]), "values": lines[i].round(5).tolist()}
            for i in worst
        ],
    }


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {type(value).__name__}")
    return value


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return float(value) if math.isfinite(value) else None


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _array(data: Sequence[Any], *shape: int) -> Float[np.ndarray, "*shape"]:
    """Nested lists as an array, None as NaN."""
    array = np.array(data, dtype=object)
    if array.size == 0 and 0 in shape:
        return np.zeros(shape)
    if array.shape != shape:
        raise ValueError(f"expected numbers of the shape {shape}, got {array.shape}")
    numbers = [math.nan if (x := _number(value)) is None else x for value in array.ravel()]
    return np.array(numbers, np.float64).reshape(shape)
