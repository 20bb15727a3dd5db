import dataclasses
import multiprocessing

import pytest

from pliant.bench import processes
from pliant.bench.folders import read_error, run_folder
from pliant.bench.perform import RunOutcome
from pliant.bench.processes import ProcessPool
from pliant.cli.grid import read_grid

RUNS = list(read_grid("smoke").runs)
SECONDS = 300  # of patience with a busy machine


@pytest.mark.usefixtures("shared_compiled_code")
def test_a_worker_that_dies_fails_its_run_and_is_replaced(tmp_path):
    runs = RUNS.copy()
    with ProcessPool(tmp_path, 1) as pool:
        run = pool.start(runs)
        assert run is not None
        assert pool.start(runs) is None  # the only worker is busy
        (worker,) = multiprocessing.active_children()
        worker.kill()
        outcome = pool.wait(SECONDS)[0]
        assert outcome.failed
        assert "exit code -9" in read_error(run_folder(tmp_path, run))
        assert pool.start(runs) is not None


def test_workers_prefer_runs_of_their_kind_and_leave_those_of_others(tmp_path, monkeypatch):
    """Each worker compiles as little as possible; this process plays both workers."""
    ends = []

    def new_worker():
        ours, theirs = multiprocessing.Pipe()
        ends.append(theirs)
        return processes._Worker(multiprocessing.Process(), ours)

    monkeypatch.setattr(processes, "_new_worker", new_worker)
    pli = [dataclasses.replace(RUNS[0], seed=seed) for seed in range(3)]
    abc = [dataclasses.replace(run, method="PMC-ABC-MMD") for run in pli]
    pool, waiting = ProcessPool(tmp_path, 2), [*pli, *abc]
    assert [pool.start(waiting) for _ in range(3)] == [pli[0], abc[0], None]
    assert ends[1].recv() == (abc[0], run_folder(tmp_path, abc[0]))
    outcome = RunOutcome(abc[0].name, 1.0, "finished", failed=False)
    ends[1].send(outcome)
    assert pool.wait(SECONDS) == [outcome]
    assert pool.start(waiting) == abc[1]
    assert waiting == [*pli[1:], abc[2]]
