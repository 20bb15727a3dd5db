"""A grid whose folders hold made-up results, for tables and figures without any inference."""

from pathlib import Path

import numpy as np
import pytest

from pliant._files import write_arrays, write_json
from pliant.bench.folders import run_folder, write_grid
from pliant.bench.results import GridResults
from pliant.cli.grid import parse_grid
from pliant.run.folder import FORMAT, HISTORY, METRICS, SAMPLES, snapshot_file
from pliant.tasks import get

ROUNDS = 6
GRID = """
[methods.PLI-MMD]
method = "pli-mmd"
[methods.PMC-ABC-MMD]
method = "pmc-abc"
[methods.APT]
method = "apt"

[[experiment]]
name = "accuracy"
tasks = "gaussian_location"
n_obs = [2, 100]
seeds = [0, 1]
methods = ["PLI-MMD", "PMC-ABC-MMD", "APT"]

[[experiment]]
name = "accuracy"
tasks = "furuta"
n_obs = [5, 10]
seeds = [0, 1]
methods = ["PLI-MMD", "APT"]

[[experiment]]
name = "epsilon"
tasks = "gaussian_location"
n_obs = 100
seeds = 0
methods = "PLI-MMD"
options = { epsilon = [0.5, 1.0] }

[[experiment]]
name = "snapshots"
tasks = "furuta"
n_obs = 100
seeds = 0
methods = "PLI-MMD"
snapshots = 50

[[experiment]]
name = "partition"
tasks = "gaussian_location"
n_obs = [2, 100]
seeds = 0
methods = "PLI-MMD"
options = { partition = [0, 5] }
snapshots = 50

[[experiment]]
name = "overview"
tasks = "gaussian_location"
n_obs = 20
seeds = 0
methods = "PLI-MMD"
snapshots = 50
"""
_GOOD = {"PLI-MMD": 1.0, "PLI-W": 2.0, "PMC-ABC-MMD": 3.0, "PMC-ABC-W": 4.0, "APT": 0.5}


@pytest.fixture(scope="session")
def make_up():
    return _make_up


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """The folder and the grid of all figures."""
    out = tmp_path_factory.mktemp("made_up")
    grid = parse_grid(GRID, "grid.toml")
    _make_up(out, grid)
    return out, grid


@pytest.fixture(scope="session")
def results(made_up):
    return GridResults(*made_up)


def _make_up(out: Path, grid):
    """Write what ``perform`` would for every run, with numbers from a formula."""
    write_grid(out, grid)
    for run in grid.runs:
        folder = run_folder(out, run)
        folder.mkdir(parents=True)
        rng = np.random.default_rng([run.seed, run.n_obs, len(run.name)])
        task = get(run.task)
        error = _GOOD[run.method] / run.n_obs * np.exp(0.2 * rng.normal())
        write_json(folder / METRICS, _metrics(run, task, error, rng))
        rows = [_row(run, index) for index in range(1, ROUNDS + 1)]
        write_json(folder / HISTORY, {"format": FORMAT, "rounds": rows})
        write_arrays(folder / SAMPLES, _samples(task, rng, 400, run.n_obs))
        if run.snapshots:
            snapshot_file(folder, 1).parent.mkdir()
            for index in range(1, ROUNDS + 1):
                samples = _samples(task, rng, run.snapshots, 2**index)
                write_arrays(snapshot_file(folder, index), samples)


def _metrics(run, task, error, rng):
    rows = [("MMD^2", error - 0.005, 1e-4 * rng.normal()), ("Wasserstein^2", error, 0.01)]
    rows = rows if task.has_reference else [("rollout error", 100 * error, 0.0)]
    rows += [
        ("log density of truth", -10 * error, None),
        ("predictive MMD^2", error - 0.01, 0.001),
        ("predictive Wasserstein^2", 10 * error, 1.0),
    ]
    return {
        "status": "finished",
        "message": "",
        "rounds": ROUNDS,
        "simulations": 1000,
        "seconds": float(rng.uniform()),
        "metrics": [{"name": n, "value": value, "floor": floor} for n, value, floor in rows],
    }


def _row(run, index):
    epsilon = run.options.get("epsilon", 1.0)
    beta, eta = 0.0005, 2e4 * np.exp(-epsilon * index)
    row = {"round": index, "bandwidth": (1 + eta) * beta, "eta": eta, "beta": beta}
    if run.options.get("partition"):
        row["spearman"] = np.tanh(index / 3) - 0.3 * (run.method == "PLI-W")
    return row


def _samples(task, rng, n, sharpness):
    """Around the truth; within the prior's range where it has one."""
    samples = {}
    for name, value in task.truth.items():
        prior = task.prior[name]
        width = np.asarray(prior.variance, float) ** 0.5 / np.sqrt(1 + sharpness)
        draws = np.asarray(value) + width * rng.normal(size=(n, *np.shape(value)))
        low = np.asarray(getattr(prior, "low", -np.inf), float)
        high = np.asarray(getattr(prior, "high", np.inf), float)
        samples[name] = np.clip(draws, low, high)
    return samples
