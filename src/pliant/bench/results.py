"""The results of a grid, read from its folder: table rows, histories and samples."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant._files import read_arrays
from pliant.bench.collect import rows_of, summary_of
from pliant.bench.folders import by_state, run_folder
from pliant.bench.plan import Grid, Run
from pliant.run.folder import SAMPLES, SNAPSHOTS, numbered
from pliant.run.history import History, read_history

Samples = Mapping[str, np.ndarray]


class MissingRunsError(Exception):
    """A figure cannot be drawn; the text says which runs it needs."""


class GridResults:
    """The finished runs of a grid.

    ``rows`` and ``summary`` are of all of them, ``runs`` are those whose samples are here: a run
    that a table of earlier results knows has none.

    Args:
        out: The folder of the grid.
        grid: The grid; unfinished runs are left out.
    """

    def __init__(self, out: Path, grid: Grid):
        self._out = out
        finished = by_state(out, grid.runs)["finished"]
        self.runs = [run for run in finished if (run_folder(out, run) / SAMPLES).is_file()]
        self.rows = rows_of(out, grid)
        self.summary = summary_of(self.rows)

    def find(self, wanted: str, test: Callable[[Run], bool]) -> list[Run]:
        """The ``runs`` that pass a test; if there are none, the error says ``wanted``."""
        found = [run for run in self.runs if test(run)]
        if not found:
            raise MissingRunsError(wanted)
        return found

    def history(self, run: Run) -> History:
        """The history of a run, one row per round."""
        return read_history(run_folder(self._out, run))

    def samples(self, run: Run) -> dict[str, np.ndarray]:
        """Posterior samples of a run, by name."""
        return read_arrays(run_folder(self._out, run) / SAMPLES)

    def snapshots(self, run: Run) -> dict[int, dict[str, np.ndarray]]:
        """Posterior samples after each round."""
        paths = numbered(run_folder(self._out, run) / SNAPSHOTS)
        return {index: read_arrays(path) for index, path in paths.items()}


def in_order(values: Sequence[Any]) -> list[Any]:
    """The distinct values in order of first appearance."""
    return list(dict.fromkeys(values))
