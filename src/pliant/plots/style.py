"""What all plots share: colours for all kinds of colour vision, figures, axes and ticks."""

import contextlib
import io
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

# Okabe and Ito's palette
BLUE, VERMILLION, GREEN, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#000000", "#8A8A8A"

Ticks = Callable[[float, float], tuple[list[float], list[str]]]
"""Numbers between two others, and how they are written."""

_MINUS = "\N{MINUS SIGN}"
_LONGEST_FORMULA = 80  # characters
_MATHTEXT = MathTextParser("path")
_PLAIN = (1e-3, 1e4)  # sizes that are written without a power of ten


def _number(x: float) -> str:
    """A number in as few characters as possible: ``0.03``, or a power of ten."""
    if x == 0 or _PLAIN[0] * (1 - 1e-9) <= abs(x) < _PLAIN[1]:
        return f"{x:g}".replace("-", _MINUS)
    power = math.floor(math.log10(abs(x)) + 1e-9)
    digits = f"{abs(x) / 10.0**power:g}"
    sign = _MINUS if x < 0 else ""
    factor = "" if digits == "1" else rf"{digits}\cdot"
    return rf"{sign}${factor}10^{{{power}}}$"


NUMBERS = FuncFormatter(lambda x, _: _number(x))


def readable(text: str, *, longest: int = 24) -> str:
    """A user's name as the text of a figure: cut if it is long, and literal if it is no mathtext.

    Matplotlib reads what stands between two dollar signs as a formula, and raises while it draws
    if it is none.
    """
    if "$" in text and len(text) <= _LONGEST_FORMULA:
        with contextlib.suppress(ValueError):
            _MATHTEXT.parse(text)
            return text
    short = text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
    return short.replace("$", r"\$")


class _NotebookFigure(Figure):
    """A figure that notebooks show, although no window and no pyplot knows it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches, without a window or global state."""
    layout = ConstrainedLayoutEngine(w_pad=0.04, h_pad=0.04, wspace=0.03, hspace=0.03)
    figure = _NotebookFigure(figsize=(width, height), dpi=120, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def tint(colour: str, strength: float) -> tuple[float, float, float]:
    """The colour mixed with white; unlike with transparency, overlaps do not add up."""
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def bare(axes: Axes) -> None:
    """Show only the left and the bottom spine."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7, length=2.5, width=0.6)
    for line in axes.spines.values():
        line.set_linewidth(0.6)


def corner(figure: Figure | SubFigure, n: int) -> Iterator[tuple[int, int, Axes]]:
    """Rows, columns and axes of a corner plot: a square of panels without its upper half."""
    grid = figure.subplots(n, n, squeeze=False)
    for row, column in itertools.product(range(n), range(n)):
        if column > row:
            grid[row, column].remove()
        else:
            yield row, column, grid[row, column]


def label_corner(
    axes: Axes, labels: list[str], row: int, column: int, find_ticks: Ticks, **style: Any
) -> None:
    """Ticks on a panel of a corner plot, with numbers and names at the left and the bottom."""
    ticks, texts = find_ticks(*axes.get_xlim())
    last = row == len(labels) - 1
    axes.set_xticks(ticks, texts if last else [""] * len(ticks))
    if last:
        axes.set_xlabel(readable(labels[column]), **style)
        axes.tick_params(axis="x", labelrotation=45)
    if row == column:  # the height of a marginal has no meaning
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return
    ticks, texts = find_ticks(*axes.get_ylim())
    axes.set_yticks(ticks, texts if column == 0 else [""] * len(ticks))
    if column == 0:
        axes.set_ylabel(readable(labels[row]), **style)


def short_ticks(low: float, high: float, *, most: int) -> tuple[list[float], list[str]]:
    """Up to ``most`` round numbers between ``low`` and ``high``, with as few digits as needed."""
    locator = MaxNLocator(most, min_n_ticks=2, steps=[1, 2, 5, 10])
    ticks = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
    return ticks, [_tick(tick, ticks) for tick in ticks]


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Set the ticks of a logarithmic axis: denser for a smaller span, in one format."""
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.5 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(NUMBERS)


def _tick(x: float, ticks: list[float]) -> str:
    """``x`` with the decimals of the ticks' step, which is 1, 2 or 5 times a power of ten."""
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else max(abs(x), 1.0)
    largest = max(abs(tick) for tick in ticks)
    place = math.floor(math.log10(step) + 1e-6)
    x = 0.0 if abs(x) < step / 2 else x
    if place >= -4 and largest < 1e5:
        text = f"{x:.{max(0, -place)}f}"
    else:
        digits = math.floor(math.log10(largest) + 1e-6) - place + 1 if largest > 0 else 1
        text = f"{x:.{digits}g}"
    return text.replace("-", _MINUS)
