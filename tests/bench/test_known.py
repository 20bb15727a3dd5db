"""Runs of an earlier table are not repeated, and give the same rows."""

import shutil

import pytest
from typer.testing import CliRunner

from pliant.bench.collect import rows_of, write_tables
from pliant.bench.folders import by_state, run_folder, write_grid
from pliant.bench.known import take_over
from pliant.bench.results import GridResults
from pliant.cli import app
from pliant.cli.grid import parse_grid
from pliant.run.folder import METRICS

GRID = """
[methods.PLI-MMD]
method = "pli-mmd"

[[experiment]]
name = "accuracy"
tasks = ["sir", "furuta"]
n_obs = 2
seeds = [0, 1]
methods = "PLI-MMD"
"""


@pytest.fixture
def table(tmp_path, make_up):
    """Of all four runs, made elsewhere; and the grid."""
    grid, out = parse_grid(GRID, "grid.toml"), tmp_path / "elsewhere"
    make_up(out, grid)
    write_tables(out, rows_of(out, grid))
    return out / "table.csv", grid


def test_known_runs_are_finished_with_the_same_rows(table, tmp_path):
    path, grid = table
    out = tmp_path / "here"
    write_grid(out, grid)
    assert take_over(out, grid, path) == 4
    assert by_state(out, grid.runs)["finished"] == list(grid.runs)
    assert rows_of(out, grid) == rows_of(path.parent, grid)
    assert take_over(out, grid, path) == 0  # nothing is new


def test_runs_with_other_settings_are_not_known(table, tmp_path):
    path, _ = table
    other = parse_grid(GRID.replace('"pli-mmd"', '"pli-mmd"\nrounds = 7'), "grid.toml")
    assert take_over(tmp_path / "here", other, path) == 0


def test_only_runs_that_were_made_here_have_samples(table, tmp_path):
    path, grid = table
    out, first = tmp_path / "here", grid.runs[0]
    shutil.copytree(run_folder(path.parent, first), run_folder(out, first))
    before = (run_folder(out, first) / METRICS).read_bytes()
    assert take_over(out, grid, path) == 3
    assert (run_folder(out, first) / METRICS).read_bytes() == before
    results = GridResults(out, grid)
    assert results.runs == [first]
    assert {row["run"] for row in results.rows} == {run.name for run in grid.runs}


def test_another_table_is_refused_by_name(table, tmp_path):
    path, grid = table
    with pytest.raises(ValueError, match=r"summary.csv: expected the table.csv"):
        take_over(tmp_path / "here", grid, path.with_name("summary.csv"))
    with pytest.raises(FileNotFoundError):
        take_over(tmp_path / "here", grid, tmp_path / "nothing.csv")


def test_the_command_has_nothing_left_to_do(table, tmp_path):
    path, _ = table
    (tmp_path / "grid.toml").write_text(GRID)
    options = ["--out", str(tmp_path / "here"), "--known", str(path)]
    result = CliRunner().invoke(app, ["bench", "run", str(tmp_path / "grid.toml"), *options])
    assert result.exit_code == 0, result.output
    assert "4 runs finished." in result.output
    options[-1] = str(tmp_path / "nothing.csv")
    result = CliRunner().invoke(app, ["bench", "run", str(tmp_path / "grid.toml"), *options])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "nothing.csv" in result.stderr
