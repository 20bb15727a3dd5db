"""Colours, markers and titles that all figures share."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pliant.plots.regions import DARK, LIGHT
from pliant.plots.style import BLACK, BLUE, GREEN, GREY, VERMILLION, readable, tint

WIDTH = 7.0
"""The width of a page's text, in inches."""

_SKY, _ORANGE, _PURPLE = "#56B4E9", "#E69F00", "#CC79A7"  # from the same palette
_BROWN = "#7F4F24"
_METHODS = {
    "PLI-MMD": (BLUE, "o"),
    "PLI-W": (_SKY, "s"),
    "PMC-ABC-MMD": (VERMILLION, "^"),
    "PMC-ABC-W": (_ORANGE, "v"),
    "APT": (GREEN, "D"),
    "PLI": (_PURPLE, "P"),
}
_LABELS = {"PLI": "PLI (default)"}  # in legends, where the name of a grid is too short
_OTHERS = [(_BROWN, "p"), (BLACK, "X"), (GREY, "*")]
_GREEK = {"alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "rho", "sigma", "tau"}
_MOST_IN_LINE = 7  # entries of a legend
_TASKS = {
    "gaussian_location": "Gaussian location",
    "gaussian_mixture": "Gaussian mixture",
    "slcp": "SLCP",
    "sir": "SIR",
    "furuta": "Furuta",
    "two_moons": "Two moons",
    "lotka_volterra": "Lotka-Volterra",
}
METRICS = {  # lower is better for all of them
    "MMD^2": "MMD² to the exact posterior",
    "Wasserstein^2": "Wasserstein² to the exact posterior",
    "C2ST": "C2ST",
    "log density of truth": "minus log density\nof the truth",
    "predictive MMD^2": "predictive MMD²",
    "predictive Wasserstein^2": "predictive Wasserstein²",
    "rollout error": "accumulated error",
}


def width_of(panels: int) -> float:
    """The width in inches of a figure with this many panels side by side."""
    return min(WIDTH, max(4.4, 1.2 + 1.4 * panels))


def line_style(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Colour and marker of a method; unknown labels take spare styles in turn."""
    if method in _METHODS:
        colour, marker = _METHODS[method]
    else:
        unknown = [name for name in methods if name not in _METHODS]
        colour, marker = _OTHERS[unknown.index(method) % len(_OTHERS)]
    return {"color": colour, "marker": marker}


def task_title(task: str) -> str:
    """The title of a task."""
    return _TASKS.get(task, task)


def ordered_tasks(tasks: Iterable[str]) -> list[str]:
    """Each task once, in the paper's order; others follow as they come."""
    return _ordered(tasks, list(_TASKS))


def ordered_methods(methods: Iterable[str]) -> list[str]:
    """Each method once, in the order of all legends; others follow as they come."""
    return _ordered(methods, list(_METHODS))


def _ordered(values: Iterable[str], known: list[str]) -> list[str]:
    places = {value: place for place, value in enumerate(known)}
    return sorted(dict.fromkeys(values), key=lambda value: places.get(value, len(known)))


def symbol(label: str) -> str:
    """A column of samples as the paper writes it: ``theta[0]`` is θ with the index 1."""
    if not re.fullmatch(r"[^\W_]+(_[^\W_]+)?(\[[\d,]+\])?", label):
        return readable(label)
    name, _, index = label.rstrip("]").partition("[")
    name, _, subscript = name.partition("_")
    places = [str(int(place) + 1) for place in index.split(",") if place]
    letters = rf"\{name}" if name in _GREEK else name if len(name) == 1 else rf"\mathrm{{{name}}}"
    below = ",".join([*([subscript] if subscript else []), *places])
    return f"${letters}_{{{below}}}$" if below else f"${letters}$"


def evenly_spaced(rounds: Sequence[int], most: int) -> list[int]:
    """Up to ``most`` evenly spaced rounds, with the first and the last."""
    places = np.linspace(0, len(rounds) - 1, min(most, len(rounds))).round().astype(int)
    return [rounds[place] for place in places]


def method_handles(methods: Sequence[str], **style: Any) -> list[Line2D]:
    """One entry of a legend per method."""
    styles = {method: line_style(method, methods) for method in methods}
    return [
        Line2D([], [], label=readable(_LABELS.get(name, name)), **{**own, **style})
        for name, own in styles.items()
    ]


def legend_above(figure: Figure, handles: list[Line2D], title: str | None = None) -> None:
    """A legend above the panels, in as few lines as fit."""
    lines = -(-len(handles) // _MOST_IN_LINE)
    place: Any = {"loc": "outside upper center", "ncols": -(-len(handles) // lines)}
    style: Any = {"fontsize": 7, "title_fontsize": 8, "columnspacing": 1.5, "frameon": False}
    figure.legend(handles=handles, title=title, **place, **style)


def region_handles(colour: str, label: str = "") -> list[Patch]:
    """Entries of a legend for the regions that ``pliant.plots.regions`` draws."""
    start = f"{label}: " if label else ""
    return [
        Patch(color=tint(colour, DARK), label=f"{start}50 %"),
        Patch(color=tint(colour, LIGHT), label="90 %"),
    ]
