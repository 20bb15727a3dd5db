"""The tables of a grid: each metric of each finished run, means over seeds, and run times."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from pliant._files import read_json, replacing
from pliant.bench.folders import by_state, run_folder
from pliant.bench.plan import Grid, Run
from pliant.run.folder import METRICS

Row = dict[str, Any]

KEYS = ("experiment", "task", "method", "n_obs", "options", "metric")
"""The columns that identify a mean; ``options`` has those the experiment varies, as JSON."""
_COSTS = ("status", "rounds", "simulations", "seconds")
COLUMNS = ("run", *KEYS[:4], "seed", *KEYS[4:], "value", "floor", *_COSTS)
SUMMARY_COLUMNS = (*KEYS, "seeds", "mean", "low", "high", "floor")
_MEDIANS = ("seconds", "simulations", "rounds")
TIME_COLUMNS = (*KEYS[:4], "runs", *(f"median_{name}" for name in _MEDIANS))
_LEVEL = 0.95


def rows_of(out: Path, grid: Grid) -> list[Row]:
    """The rows of all finished runs in the grid's order, with the columns ``COLUMNS``.

    ``value`` and ``floor`` are those of ``pliant.metrics.Metric``. ``seconds`` is the duration of
    the inference; it is the only column that differs between repetitions of a run.
    """
    finished = by_state(out, grid.runs)["finished"]
    return [
        row for run in finished for row in _rows(run, read_json(run_folder(out, run) / METRICS))
    ]


def summary_of(rows: Sequence[Row]) -> list[Row]:
    """Means over the seeds with 95 % intervals, with the columns ``SUMMARY_COLUMNS``.

    The interval is Student's, which is wide for two or three seeds. There is none for a single
    seed. ``floor`` is the mean noise floor.
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in KEYS)].append(row)
    return [{**dict(zip(KEYS, key, strict=True)), **_mean(group)} for key, group in groups.items()]


def times_of(rows: Sequence[Row]) -> list[Row]:
    """What runs cost: medians over the seeds (and varied options), with ``TIME_COLUMNS``."""
    groups: dict[tuple[Any, ...], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        groups[tuple(row[key] for key in KEYS[:4])][row["run"]] = row  # one of its metrics
    times = []
    for key, runs in groups.items():
        medians = [float(np.median([run[name] for run in runs.values()])) for name in _MEDIANS]
        times.append(dict(zip(TIME_COLUMNS, (*key, len(runs), *medians), strict=True)))
    return times


def write_tables(out: Path, rows: Sequence[Row]) -> list[Path]:
    """Write ``table``, ``summary`` and ``times``, each as CSV and Parquet.

    Raises:
        ImportError: If pyarrow is not installed.
    """
    tables = {
        "table": (COLUMNS, rows),
        "summary": (SUMMARY_COLUMNS, summary_of(rows)),
        "times": (TIME_COLUMNS, times_of(rows)),
    }
    writers = {"csv": _write_csv, "parquet": _write_parquet}
    return [
        write(out / f"{name}.{ending}", *data)
        for name, data in tables.items()
        for ending, write in writers.items()
    ]


def _rows(run: Run, result: Mapping[str, Any]) -> list[Row]:
    common = {
        "run": run.name,
        **{name: getattr(run, name) for name in (*KEYS[:4], "seed")},
        "options": json.dumps(dict(run.varied)) if run.varied else "",
    }
    costs = {name: result[name] for name in _COSTS}
    return [
        {**common, "metric": row["name"], "value": row["value"], "floor": row["floor"], **costs}
        for row in result["metrics"]
    ]


def _mean(rows: Sequence[Row]) -> Row:
    values = np.array([row["value"] for row in rows if row["value"] is not None], float)
    floors = [row["floor"] for row in rows if row["floor"] is not None]
    low, high = interval(values) if len(values) > 1 else (None, None)
    return {
        "seeds": len(values),
        "mean": float(values.mean()) if len(values) else None,
        "low": low,
        "high": high,
        "floor": float(np.mean(floors)) if floors else None,
    }


def interval(values: np.ndarray) -> tuple[float, float]:
    """Student's 95 % interval of the mean of at least two numbers."""
    n = len(values)
    half = student.ppf((1 + _LEVEL) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
    return path


def _write_parquet(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> Path:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'pliant[bench]'.") from error
    kinds = {
        **dict.fromkeys(("n_obs", "seed", "rounds", "simulations"), pyarrow.int64()),
        **dict.fromkeys(("seeds", "runs"), pyarrow.int64()),
        **dict.fromkeys(("value", "floor", "seconds", "mean", "low", "high"), pyarrow.float64()),
        **dict.fromkeys(TIME_COLUMNS[-len(_MEDIANS) :], pyarrow.float64()),
    }
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in columns])
    with replacing(path) as file:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), file)
    return path
