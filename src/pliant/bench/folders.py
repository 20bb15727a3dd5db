"""The folder of a grid: ``grid.toml``, and ``runs/NAME/`` for each run.

``pliant.run.folder`` names the files of a run. ``metrics.json`` is written last, when the run is
finished; ``error.json`` stands in its place if the run failed.
"""

import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pliant._files import read_json, replacing, write_json
from pliant.bench.plan import Grid, Run
from pliant.run.folder import ERROR, METRICS, SETTINGS, holds_run

GRID, RUNS = "grid.toml", "runs"
STATES = ("finished", "failed", "begun", "waiting")


def run_folder(out: Path, run: Run) -> Path:
    """The folder of a run."""
    return out / RUNS / run.name


def state(folder: Path) -> str:
    """How far a run has come: one of ``STATES``."""
    if (folder / METRICS).is_file():
        return "finished"
    if (folder / ERROR).is_file():
        return "failed"
    return "begun" if holds_run(folder) else "waiting"


def by_state(out: Path, runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs in each state."""
    found: dict[str, list[Run]] = {name: [] for name in STATES}
    for run in runs:
        found[state(run_folder(out, run))].append(run)
    return found


def write_grid(out: Path, grid: Grid) -> None:
    """Store the grid's text beside its runs."""
    (out / RUNS).mkdir(parents=True, exist_ok=True)
    with replacing(out / GRID) as file:
        file.write(grid.text.encode())


def write_settings(folder: Path, run: Run) -> None:
    """Record the run's settings, the versions of packages, and the machine."""
    import jax

    packages = ("pliant", "jax", "jaxlib", "numpyro", "numpy", "scipy")
    versions = {name: version(name) for name in packages}
    data = {
        "run": run.settings,
        "versions": {**versions, "python": platform.python_version()},
        "platform": platform.platform(),
        "device": str(jax.devices()[0]),
    }
    write_json(folder / SETTINGS, data)


def write_error(folder: Path, error: str, traceback: str = "") -> None:
    """Record why a run failed."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / ERROR, {"error": error, "traceback": traceback})


def read_error(folder: Path) -> str:
    """Why a run failed, in one line."""
    data: Any = read_json(folder / ERROR)
    return " ".join(str(data["error"]).split())
