"""Runs that a table of earlier results has: a grid can be finished on several machines."""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pliant._files import write_json
from pliant.bench.collect import COLUMNS
from pliant.bench.folders import run_folder, state
from pliant.bench.plan import Grid
from pliant.run.folder import METRICS


def take_over(out: Path, grid: Grid, table: Path) -> int:
    """Mark the runs of a table as finished in the folder ``out``, and return how many were new.

    A run's name has a digest of all its settings: a row of the table counts only for the very same
    run. Its metrics are copied. It has no samples and no history here, so figures that need them
    do without it.

    Args:
        out: The folder of the grid.
        grid: Rows of runs that are not in it are ignored.
        table: The ``table.csv`` of ``pliant bench collect``.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is another kind of table.
    """
    rows = _rows_by_run(table)
    new = [
        run for run in grid.runs if run.name in rows and state(run_folder(out, run)) != "finished"
    ]
    for run in new:
        folder = run_folder(out, run)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / METRICS, _metrics(rows[run.name]))
    return len(new)


def _rows_by_run(table: Path) -> dict[str, list[dict[str, str]]]:
    with table.open(newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{table}: expected the table.csv of `pliant bench collect`, with the columns "
                f"{', '.join(COLUMNS)}."
            )
        found: dict[str, list[dict[str, str]]] = defaultdict(list)
        for row in reader:
            found[row["run"]].append(row)
    return found


def _metrics(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """What ``perform`` writes at the end of a run, except for its message."""
    first = rows[0]
    return {
        "status": first["status"],
        "message": "",
        "rounds": int(first["rounds"]),
        "simulations": int(first["simulations"]),
        "seconds": float(first["seconds"]),
        "metrics": [
            {
                "name": row["metric"],
                "value": _number(row["value"]),
                "floor": _number(row["floor"]),
            }
            for row in rows
        ],
    }


def _number(text: str) -> float | None:
    return float(text) if text else None
