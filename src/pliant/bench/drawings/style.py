"""Colours, markers and titles that all figures share."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pliant.plots.style import BLACK, BLUE, GREEN, GREY, VERMILLION

WIDTH = 7.0
"""The width of a page's text, in inches."""

_SKY, _ORANGE, _PURPLE = "#56B4E9", "#E69F00", "#CC79A7"  # from the same palette
_METHODS = {
    "PLI-MMD": (BLUE, "o"),
    "PLI-W": (_SKY, "s"),
    "PMC-ABC-MMD": (VERMILLION, "^"),
    "PMC-ABC-W": (_ORANGE, "v"),
    "APT": (GREEN, "D"),
}
_OTHERS = [(_PURPLE, "P"), (BLACK, "X"), (GREY, "*")]
_TASKS = {
    "gaussian_location": "Gaussian location",
    "gaussian_mixture": "Gaussian mixture",
    "slcp": "SLCP",
    "sir": "SIR",
    "furuta": "Furuta",
}
METRICS = {
    "MMD^2": "MMD² to the exact posterior",
    "Wasserstein^2": "Wasserstein² to the exact posterior",
    "C2ST": "C2ST",
    "log density of truth": "log density of the truth",
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


def method_handles(methods: Sequence[str], **style: Any) -> list[Line2D]:
    """One entry of a legend per method."""
    styles = {method: line_style(method, methods) for method in methods}
    return [Line2D([], [], label=name, **{**own, **style}) for name, own in styles.items()]


def legend_above(figure: Figure, handles: list[Line2D]) -> None:
    """A legend in one line above the panels."""
    place: Any = {"loc": "outside upper center", "ncols": len(handles)}
    figure.legend(handles=handles, **place, fontsize=7, frameon=False)
