"""The same grid run whole, interrupted and killed, and on a cluster: the same table each time."""

import json
import signal
import subprocess
import sys
import time

import jax
import pytest
from typer.testing import CliRunner

import pliant
from pliant.bench.cluster import DaskPool
from pliant.bench.collect import rows_of
from pliant.bench.folders import by_state, read_error, run_folder
from pliant.bench.perform import perform
from pliant.bench.pool import AbstractPool
from pliant.bench.processes import ProcessPool
from pliant.bench.run import run_grid
from pliant.cli import app
from pliant.cli.dask import connect
from pliant.cli.grid import read_grid

GRID = """
samples = 50

[methods.PLI]
method = "pli-mmd"
family = "gaussian"
n_particles = 100
n_draws = 20
rounds = 2

[methods.PMC]
method = "pmc-abc" # MMD needs two draws, so these runs fail

[[experiment]]
name = "kept"
tasks = "gaussian_location"
n_obs = 2
seeds = [0, 1, 2]
methods = "PLI"
snapshots = 10

[[experiment]]
name = "failing"
tasks = "gaussian_location"
n_obs = 1
seeds = [0]
methods = "PMC"
"""
SECONDS = 300  # of patience with a busy machine
pytestmark = pytest.mark.usefixtures("shared_compiled_code")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.toml"
    path.write_text(GRID)
    return path


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    """The folder of a grid that was run in this process."""
    out = tmp_path_factory.mktemp("whole")
    run_grid(read_grid(str(source)), out, InThisProcess)
    return out


class InThisProcess(AbstractPool):
    """No workers at all: compiled code of the tests is shared."""

    started = ()
    outcomes = ()

    @property
    def size(self):
        return 1

    def start(self, waiting):
        if self.outcomes or not waiting:
            return None
        run = waiting.pop(0)
        self.started = (*self.started, run.experiment)
        self.outcomes = (perform(run, run_folder(self.out, run)),)
        return run

    def wait(self, seconds):
        outcomes, self.outcomes = self.outcomes, ()
        return list(outcomes)

    def close(self):
        pass


def bench(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], prog_name="pliant")


def table(out, source):
    """All rows without their times."""
    rows = rows_of(out, read_grid(str(source)))
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_a_failure_is_recorded_and_does_not_stop_the_rest(whole, source):
    states = by_state(whole, read_grid(str(source)).runs)
    assert [run.experiment for run in states["failed"]] == ["failing"]
    assert "2 draws" in read_error(run_folder(whole, states["failed"][0]))
    assert len(states["finished"]) == 3
    assert len(table(whole, source)) == 3 * 5
    status = bench("status", whole)
    assert status.exit_code == 0
    assert "kept        gaussian_location  PLI            3       -" in status.output
    assert "n_draws" in status.output


def test_a_finished_run_has_its_settings_samples_and_no_checkpoints(whole, source):
    run = read_grid(str(source)).runs[0]
    folder = run_folder(whole, run)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["run"] == run.settings
    assert settings["versions"]["jax"] == jax.__version__
    assert pliant.load(folder).status == "cut_short"  # two rounds do not reach the target
    assert sorted(path.name for path in (folder / "snapshots").iterdir()) == ["001.npz", "002.npz"]
    assert not (folder / "rounds").exists()


def test_nothing_is_repeated_unless_it_failed_and_is_retried(whole, source):
    grid = read_grid(str(source))
    pools = []

    def make_pool(path):
        pools.append(InThisProcess(path))
        return pools[-1]

    run_grid(grid, whole, make_pool)
    assert not pools  # nothing to do
    states = run_grid(grid, whole, make_pool, retry=True)
    assert pools[0].started == ("failing",)
    assert len(states["failed"]) == 1


def test_interrupted_and_killed_runs_give_the_same_table(whole, source, tmp_path):
    out = tmp_path / "killed"
    runs = read_grid(str(source)).runs
    process = start(source, out)
    wait_for(lambda: any((out / "runs").glob("*/rounds/000.npz")), process)
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130
    assert not by_state(out, runs)["finished"]

    process = start(source, out)
    wait_for(lambda: by_state(out, runs)["finished"] and by_state(out, runs)["begun"], process)
    process.kill()
    process.wait(SECONDS)
    assert 0 < len(by_state(out, runs)["finished"]) < 3

    run_grid(read_grid(str(source)), out, InThisProcess)
    result = bench("run", source, "--out", out)  # nothing is left to do
    assert result.exit_code == 1
    assert "3 runs finished, 1 failed." in result.output
    assert table(out, source) == table(whole, source)


def test_a_cluster_gives_the_same_table_as_one_process(whole, source, tmp_path):
    distributed = pytest.importorskip("distributed")
    # its workers are threads, which find what is compiled, but all that they get is sent by TCP
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    local |= {"processes": False, "protocol": "tcp"}
    with distributed.LocalCluster(**local) as cluster:
        address = cluster.scheduler_address
        states = run_grid(
            read_grid(str(source)), tmp_path, lambda path: DaskPool(path, *connect(address))
        )
    assert {state: len(runs) for state, runs in states.items()} == {
        "finished": 3,
        "failed": 1,
        "begun": 0,
        "waiting": 0,
    }
    assert table(tmp_path, source) == table(whole, source)


def test_two_cannot_work_in_one_folder(source, tmp_path):
    from pliant._files import InUseError, lock

    with lock(tmp_path / ".lock", tmp_path), pytest.raises(InUseError, match="in use by process"):
        run_grid(read_grid(str(source)), tmp_path, lambda path: ProcessPool(path, 1))


def start(source, out):
    """It can be interrupted, though a background process, as this may be, ignores that."""
    interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", interruptible + "from pliant.cli import main; main()"]
    return subprocess.Popen(
        [*command, "bench", "run", source, "--out", out, "--workers", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(ready, process=None):
    end = time.monotonic() + SECONDS
    while not ready():
        assert process is None or process.poll() is None, "it ended too early"
        assert time.monotonic() < end
        time.sleep(0.01)
