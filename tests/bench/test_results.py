import numpy as np
import pytest

from pliant.bench.folders import run_folder
from pliant.bench.results import GridResults, MissingRunsError, in_order
from pliant.cli.grid import parse_grid
from pliant.run.folder import METRICS
from pliant.tasks import get

GRID = """
[methods.PLI-MMD]
method = "pli-mmd"

[[experiment]]
name = "accuracy"
tasks = "gaussian_location"
n_obs = 2
seeds = [0, 1]
methods = "PLI-MMD"
snapshots = 5
"""


@pytest.fixture
def folder(tmp_path, make_up):
    grid = parse_grid(GRID, "grid.toml")
    make_up(tmp_path, grid)
    return tmp_path, grid


def test_only_finished_runs_count(folder):
    out, grid = folder
    first, second = grid.runs
    (run_folder(out, first) / METRICS).unlink()
    results = GridResults(out, grid)
    assert results.runs == [second]
    assert {row["run"] for row in results.rows} == {second.name}
    assert {row["seeds"] for row in results.summary} == {1}
    assert results.find("of any seed", lambda run: run.n_obs == 2) == [second]
    with pytest.raises(MissingRunsError, match=r"^with seed 0$"):
        results.find("with seed 0", lambda run: run.seed == 0)


def test_a_run_is_read_back_round_by_round(folder):
    results = GridResults(*folder)
    run = results.runs[0]
    snapshots = results.snapshots(run)
    assert list(snapshots) == results.history(run)["round"].tolist() == [1, 2, 3, 4, 5, 6]
    assert {samples["theta"].shape for samples in snapshots.values()} == {(5, 10)}
    theta = results.samples(run)["theta"]
    assert theta.shape == (400, 10)
    truth = get("gaussian_location").truth["theta"]
    np.testing.assert_allclose(theta.mean(axis=0), truth, atol=0.04)  # standard error 0.009


def test_values_keep_the_order_in_which_they_appear():
    assert in_order(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]
