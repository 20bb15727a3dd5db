"""The folder of a run: the name of every file in it. This module imports nothing heavy."""

from pathlib import Path
from typing import Any

FORMAT = 8
"""The version of the format of all these files."""

_BEFORE_RELEASE = (1, 2, 3, 4, 5, 6, 7)  # formats that only development versions wrote

RUN, ROUNDS, SIMULATIONS = "run.json", "rounds", "simulations"
RESULT, POSTERIOR, HISTORY = "result.json", "posterior.npz", "history.json"
CONFIG, SAMPLES, METRICS = "config.json", "samples.npz", "metrics.json"
DIAGNOSIS, DIAGNOSIS_FIGURE, RERUNS = "diagnosis.json", "diagnosis.png", "reruns"
PAIRS_FIGURE, HISTORY_FIGURE, REPORT = "pairs.png", "history.png", "report.html"
SETTINGS, SNAPSHOTS, ERROR = "settings.json", "snapshots", "error.json"  # of a benchmark's run
LOCK = ".lock"

CONTENTS = {
    RUN: "the plan of the run, which pliant resume continues",
    ROUNDS: "the state after each of the last rounds",
    SIMULATIONS: "the draws of a simulator that is not a JAX function",
    RESULT: "status and options",
    POSTERIOR: "the posterior; pliant.load reads these three files",
    HISTORY: "one row per round",
    CONFIG: "everything needed to repeat the run",
    SAMPLES: "10,000 samples by name",
    PAIRS_FIGURE: "the posterior, every pair of parameters",
    HISTORY_FIGURE: "the history of the run",
    METRICS: "the quality of the posterior, from pliant eval",
    DIAGNOSIS: "whether it can be trusted, from pliant diagnose",
    DIAGNOSIS_FIGURE: "ranks, coverage, observations and statistics",
    REPORT: "a page about the run for a browser, from pliant report",
    RERUNS: "runs on simulated sets, from pliant diagnose --reruns",
}


def round_file(folder: Path, index: int) -> Path:
    """``rounds/003.npz``, the state after a round; round 0 is before the first one."""
    return folder / ROUNDS / f"{index:03d}.npz"


def snapshot_file(folder: Path, index: int) -> Path:
    """``snapshots/003.npz``, samples of the posterior after a round."""
    return folder / SNAPSHOTS / f"{index:03d}.npz"


def ledger_folder(folder: Path, index: int) -> Path:
    """``simulations/003``, the draws of a round."""
    return folder / SIMULATIONS / f"{index:03d}"


def rerun_folder(folder: Path, seed: int) -> Path:
    """``reruns/0``, runs on sets that the posterior simulated with a seed."""
    return folder / RERUNS / str(seed)


def ledger_file(ledger: Path, number: int) -> Path:
    """``00001.npz``, some of the draws of a round."""
    return ledger / f"{number:05d}.npz"


def numbered(folder: Path) -> dict[int, Path]:
    """The files of a folder whose names are numbers, such as ``003.npz``, in order."""
    paths = {int(path.stem): path for path in folder.glob("*.npz") if path.stem.isdigit()}
    return dict(sorted(paths.items()))


def holds_run(folder: Path) -> bool:
    """Whether the folder holds a run that can be resumed, finished or not."""
    return (folder / RUN).is_file()


def holds_result(folder: Path) -> bool:
    """Whether the folder holds a result."""
    return (folder / RESULT).is_file()


def check_format(path: Path, data: dict[str, Any]) -> None:
    """Refuse a file that another version of Pliant wrote, by a ``ValueError``."""
    found = data.get("format")
    if found == FORMAT:
        return
    early = found in _BEFORE_RELEASE
    writer = "the development version, from before 0.1.0, that" if early else "the version that"
    raise ValueError(
        f"{path}: its format is {found!r}, and this version of Pliant reads format {FORMAT}. "
        f"Read it with {writer} wrote it."
    )


def check_fields(path: Path, data: dict[str, Any], kinds: dict[str, type | None]) -> None:
    """Refuse a file some of whose fields have another type, by a ``ValueError``.

    Args:
        path: The file.
        data: What it holds.
        kinds: The types of fields that have to be there; None for text that may be absent.
    """
    for name, kind in kinds.items():
        if name not in data:
            raise ValueError(f"{path}: damaged, or not written by Pliant: it has no {name!r}.")
        value = data[name]
        if not isinstance(value, str | None if kind is None else kind):
            raise ValueError(
                f"{path}: damaged, or not written by Pliant: {name!r} is of the type "
                f"{type(value).__name__}."
            )
