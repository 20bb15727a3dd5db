"""All figures of a grid, each as PDF and PNG."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from pliant._files import replacing
from pliant.bench.drawings.bandwidth import draw_bandwidth
from pliant.bench.drawings.furuta import draw_furuta
from pliant.bench.drawings.metrics import draw_all, draw_main
from pliant.bench.drawings.overview import draw_overview
from pliant.bench.drawings.partition import draw_spearman, draw_training
from pliant.bench.drawings.posteriors import draw_pairs, draw_slices
from pliant.bench.plan import Grid
from pliant.bench.results import GridResults, MissingRunsError

FOLDER = "figures"
FIGURES: dict[str, Callable[[GridResults], Figure]] = {
    "overview": draw_overview,
    "bandwidth": draw_bandwidth,
    "metrics": draw_main,
    "all_metrics": draw_all,
    "gaussian_location": draw_slices,
    "slcp_n2": partial(draw_pairs, task="slcp", n_obs=2),
    "slcp_n100": partial(draw_pairs, task="slcp", n_obs=100),
    "furuta_n2": partial(draw_pairs, task="furuta", n_obs=2),
    "furuta_n100": partial(draw_pairs, task="furuta", n_obs=100),
    "furuta": draw_furuta,
    "spearman": draw_spearman,
    "partition": draw_training,
}
_METADATA = {"pdf": {"CreationDate": None}, "png": None}
_DOTS = 200  # per inch


class FigureOutcome(NamedTuple):
    """A figure that was drawn, or the runs that it lacks."""

    name: str
    paths: list[Path]
    wanted: str | None
    """A description of the missing runs; None if the figure was drawn."""


def draw_figures(out: Path, grid: Grid) -> Iterator[FigureOutcome]:
    """Draw into ``out/figures`` every figure whose runs are finished."""
    results = GridResults(out, grid)
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        try:
            figure = draw(results)
        except MissingRunsError as missing:
            yield FigureOutcome(name, [], str(missing))
            continue
        yield FigureOutcome(name, _save(figure, folder / name), None)


def _save(figure: Figure, path: Path) -> list[Path]:
    """Save all formats from one layout, without dates: equal figures give equal files."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for form, metadata in _METADATA.items():
        with replacing(path.with_suffix(f".{form}")) as file:
            figure.savefig(file, format=form, dpi=_DOTS, metadata=metadata)
    return [path.with_suffix(f".{form}") for form in _METADATA]
