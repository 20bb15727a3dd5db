"""The pool of a cluster, whose part is played here; ``test_run.py`` has a real one."""

from concurrent.futures import Future
from pathlib import Path

import pytest

from pliant.bench.cluster import DaskPool
from pliant.bench.folders import read_error, run_folder
from pliant.bench.perform import RunOutcome, perform
from pliant.cli.grid import read_grid

RUNS = list(read_grid("smoke").runs)


class Cluster:
    """A client with two threads, whose futures the test completes."""

    def __init__(self):
        self.submitted, self.futures, self.cancelled, self.closed = [], [], [], False

    def nthreads(self):
        return {"tcp://one": 1, "tcp://two": 1}

    def submit(self, *call, pure):
        assert not pure  # or a retried run would be taken for the one that failed
        self.submitted.append(call)
        self.futures.append(Future())
        return self.futures[-1]

    def cancel(self, futures):
        self.cancelled += futures

    def close(self):
        self.closed = True


def test_as_many_runs_as_threads_at_a_time(tmp_path):
    client, waiting = Cluster(), RUNS[:3]
    pool = DaskPool(tmp_path, client)
    assert [pool.start(waiting) for _ in range(3)] == [*RUNS[:2], None]
    assert client.submitted[1] == (perform, RUNS[1], run_folder(pool.out, RUNS[1]))
    assert pool.wait(0.0) == []
    outcome = RunOutcome(RUNS[1].name, 1.0, "finished", failed=False)
    client.futures[1].set_result(outcome)
    assert pool.wait(0.0) == [outcome]
    assert pool.start(waiting) == RUNS[2]
    assert waiting == []


@pytest.mark.parametrize("end", [lambda f: f.set_exception(OSError("lost")), Future.cancel])
def test_a_run_that_kills_its_workers_fails(end, tmp_path):
    client = Cluster()
    pool = DaskPool(tmp_path, client)
    pool.start(RUNS[:1])
    end(client.futures[0])
    (outcome,) = pool.wait(0.0)
    assert (outcome.name, outcome.failed) == (RUNS[0].name, True)
    assert outcome.text == read_error(run_folder(tmp_path, RUNS[0]))
    assert outcome.text in ("the workers died: OSError", "the workers died: CancelledError")
    assert pool.wait(0.0) == []


def test_closing_cancels_the_runs_and_ends_a_cluster_of_its_own():
    client, cluster = Cluster(), Cluster()
    with DaskPool(Path("grid"), client, cluster) as pool:
        pool.start(RUNS[:1])
        assert pool.out == Path("grid").resolve()  # workers may be in another folder
    assert client.cancelled == client.futures
    assert client.closed
    assert cluster.closed
