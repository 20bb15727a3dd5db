import csv
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant.bench.collect import (
    COLUMNS,
    KEYS,
    TIME_COLUMNS,
    interval,
    rows_of,
    summary_of,
    times_of,
)
from pliant.bench.folders import run_folder, write_error
from pliant.cli import app
from pliant.cli.grid import parse_grid
from pliant.run.folder import METRICS

GRID = """
[methods.PLI-MMD]
method = "pli-mmd"
[methods.APT]
method = "apt"

[[experiment]]
name = "accuracy"
tasks = ["gaussian_mixture", "furuta"]
n_obs = [2, 100]
seeds = [0, 1, 2]
methods = ["PLI-MMD", "APT"]

[[experiment]]
name = "epsilon"
tasks = "sir"
n_obs = 10
seeds = 0
methods = "PLI-MMD"
options = { epsilon = [0.5, 1.0] }
"""


@pytest.fixture
def folder(tmp_path, make_up):
    grid = parse_grid(GRID, "grid.toml")
    make_up(tmp_path, grid)
    return tmp_path, grid


def test_every_metric_of_every_finished_run_is_a_row(folder):
    out, grid = folder
    failed = run_folder(out, grid.runs[0])
    (failed / METRICS).unlink()
    write_error(failed, "no luck")
    rows = rows_of(out, grid)
    assert len(rows) == 11 * 5 + 12 * 4 + 2 * 5  # the pendulum has no exact posterior
    assert all(tuple(row) == COLUMNS for row in rows)
    assert grid.runs[0].name not in {row["run"] for row in rows}
    assert {row["options"] for row in rows} == {"", '{"epsilon": 0.5}', '{"epsilon": 1.0}'}


def test_means_are_over_the_seeds_with_students_interval(folder):
    rows = rows_of(*folder)
    summary = summary_of(rows)
    assert len(summary) == len({tuple(row[key] for key in KEYS) for row in rows})
    first = summary[0]
    values = [row["value"] for row in rows if all(row[key] == first[key] for key in KEYS)]
    assert first["seeds"] == len(values) == 3
    assert first["mean"] == pytest.approx(np.mean(values))
    assert (first["low"], first["high"]) == interval(np.array(values))
    assert summary[-1]["seeds"] == 1
    assert summary[-1]["low"] is None


def test_times_are_medians_over_the_runs(folder):
    rows = rows_of(*folder)
    times = times_of(rows)
    assert all(tuple(row) == TIME_COLUMNS for row in times)
    assert [row["runs"] for row in times] == [3] * 8 + [2]  # the last: two values of epsilon
    first = {row["run"]: row["seconds"] for row in rows if row["run"].startswith(_words(times[0]))}
    assert len(first) == 3  # each run counts once, however many metrics it has
    assert times[0]["median_seconds"] == pytest.approx(np.median(list(first.values())))
    assert (times[0]["median_simulations"], times[0]["median_rounds"]) == (1000.0, 6.0)


def _words(row):
    return f"{row['experiment']}-{row['task']}-{row['method']}-n{row['n_obs']}-"


def test_an_interval_holds_the_mean_in_95_of_100_cases():
    draws = np.random.default_rng(0).normal(1.0, 2.0, size=(4000, 3))
    hits = [low <= 1.0 <= high for low, high in map(interval, draws)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.011)  # three standard errors


def test_the_command_writes_the_same_numbers_as_csv_and_parquet(folder):
    from pyarrow import parquet

    out, grid = folder
    result = CliRunner().invoke(app, ["bench", "collect", str(out)])
    assert result.exit_code == 0, result.output
    assert "26 of 26 runs" in result.output
    lengths = {}
    for name in ("table", "summary", "times"):
        with (out / f"{name}.csv").open() as file:
            read = list(csv.DictReader(file))
        stored = parquet.read_table(out / f"{name}.parquet").to_pylist()
        assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in stored] == read
        lengths[name] = len(read)
    rows = rows_of(out, grid)
    assert lengths == {"table": len(rows), "summary": len(summary_of(rows)), "times": 9}


def test_a_folder_without_finished_runs_is_one_line(folder, tmp_path):
    out, grid = folder
    for run in grid.runs:
        (run_folder(out, run) / METRICS).unlink()
    for path, message in ((out, "no run is finished yet"), (tmp_path / "x", "holds no grid")):
        result = CliRunner().invoke(app, ["bench", "collect", str(path)])
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_without_pyarrow_the_message_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = CliRunner().invoke(app, ["bench", "collect", str(folder[0])])
    assert result.exit_code == 2
    assert "pip install 'pliant[bench]'" in result.stderr
