"""What figures are drawn from: the rows of the table, and what is in the folders of runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from pliant._files import read_arrays
from pliant.bench.collect import Row, rows_of, summary_of
from pliant.bench.folders import run_folder, state
from pliant.bench.grid import Grid
from pliant.bench.plan import Run
from pliant.run.folder import SAMPLES, SNAPSHOTS, numbered
from pliant.run.history import History, read_history

Samples = Mapping[str, np.ndarray]


class MissingRunsError(Exception):
    """A figure cannot be drawn; the text says which runs it wants."""


class Evidence:
    """The finished runs of a grid.

    Args:
        out: The folder of the grid.
        grid: Its runs; those that are not finished are left out.
    """

    def __init__(self, out: Path, grid: Grid):
        self._out = out
        self.runs = [run for run in grid.runs if state(run_folder(out, run)) == "finished"]
        self.rows = rows_of(out, grid)
        self.summary = summary_of(self.rows)

    def find(self, wanted: str, test: Callable[[Run], bool]) -> list[Run]:
        """The finished runs that pass a test.

        Args:
            wanted: The runs in words, for the message.
            test: Which runs they are.

        Raises:
            MissingRunsError: If there are none.
        """
        found = [run for run in self.runs if test(run)]
        if not found:
            raise MissingRunsError(wanted)
        return found

    def history(self, run: Run) -> History:
        """One row a round."""
        return read_history(run_folder(self._out, run))

    def samples(self, run: Run) -> dict[str, np.ndarray]:
        """Of the posterior, by name."""
        return read_arrays(run_folder(self._out, run) / SAMPLES)

    def snapshots(self, run: Run) -> dict[int, dict[str, np.ndarray]]:
        """Samples after each round."""
        paths = numbered(run_folder(self._out, run) / SNAPSHOTS)
        return {index: read_arrays(path) for index, path in paths.items()}


def varied(row: Row) -> dict[str, Any]:
    """The options of a row that its experiment varies."""
    return json.loads(row["options"]) if row["options"] else {}


def in_order(values: Sequence[Any]) -> list[Any]:
    """Every value once, in the order in which they first appear."""
    return list(dict.fromkeys(values))


def columns(samples: Samples) -> Float[np.ndarray, "n d"]:
    """Samples by name as one table."""
    arrays = [np.asarray(array, float) for array in samples.values()]
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)
