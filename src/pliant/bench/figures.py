"""All figures of a grid, each as PDF and PNG; those whose runs are missing are named."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from pliant._files import replacing
from pliant.bench.drawings.bandwidth import draw_bandwidth
from pliant.bench.drawings.furuta import draw_furuta
from pliant.bench.drawings.metrics import draw_all, draw_main
from pliant.bench.drawings.partition import draw_spearman, draw_training
from pliant.bench.drawings.posteriors import draw_pairs, draw_slices
from pliant.bench.evidence import Evidence, MissingRunsError
from pliant.bench.grid import Grid

FOLDER = "figures"
FIGURES: dict[str, Callable[[Evidence], Figure]] = {
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
_DOTS = 200  # an inch


class Drawn(NamedTuple):
    """What became of a figure."""

    name: str
    paths: list[Path]
    wanted: str | None
    """The runs that it lacks."""


def draw_figures(out: Path, grid: Grid) -> Iterator[Drawn]:
    """Draw what the finished runs allow into ``out/figures``."""
    evidence = Evidence(out, grid)
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        try:
            figure = draw(evidence)
        except MissingRunsError as missing:
            yield Drawn(name, [], str(missing))
            continue
        yield Drawn(name, _save(figure, folder / name), None)


def _save(figure: Figure, path: Path) -> list[Path]:
    """The figure in all formats, from one layout; without dates, so that files can be compared."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    paths = [path.with_suffix(f".{form}") for form in _METADATA]
    for one, metadata in zip(paths, _METADATA.values(), strict=True):
        with replacing(one) as file:
            figure.savefig(file, format=one.suffix[1:], dpi=_DOTS, metadata=metadata)
    return paths
