"""How draws are cut into pieces, and that no worker waits."""

import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.simulators.dispatch import (
    PROBES,
    ExecutorError,
    Pool,
    Request,
    _in_order,
    _Pieces,
    draw_pieces,
    worker_count,
)
from pliant.simulators.worker import Drawn


def request(k, n, whole_sets=False):
    keys = np.arange(2 * k, dtype=np.uint32).reshape(k, 2)
    return Request(None, keys, (np.zeros(k),), n, (), "float32", whole_sets)


def sizes(asked, seconds, workers):
    """The sizes of all pieces, if every draw takes so long."""
    wanted = np.ones((len(asked.keys), asked.n), bool)
    pieces, found, places = _Pieces(asked, _in_order(wanted, asked.whole_sets)), [], []
    while (work := pieces.next(workers)) is not None:
        found.append(len(work.places))
        places.append(work.places)
        took = np.full(found[-1], seconds, np.float32)
        pieces.note(Drawn(np.zeros(found[-1]), np.zeros(found[-1], np.uint8), took, {}))
    assert sorted(np.concatenate(places)) == list(range(wanted.size))  # each draw once
    return found


@pytest.mark.parametrize(("seconds", "usual"), [(0.05, 5), (1.0, 1), (1e-3, 250)])
def test_pieces_take_a_quarter_of_a_second(seconds, usual):
    found = sizes(request(200, 10), seconds, workers=2)
    assert found[0] == 1  # nothing is known yet
    assert max(found) == usual
    assert found[-1] == 1  # so that workers end together


def test_quick_draws_are_cut_into_few_pieces():
    assert len(sizes(request(1000, 100), 1e-7, workers=1)) < 10
    assert len(sizes(request(1000, 100), 1e-7, workers=2)) < 60


def test_first_draws_of_a_hundred_parameters_come_first():
    wanted = np.ones((300, 4), bool)
    first, rest = _in_order(wanted, whole_sets=False)
    assert first.tolist() == [4 * k for k in range(PROBES)]
    assert len(rest) == 1200 - PROBES


def test_whole_sets_are_never_split():
    asked = request(7, 5, whole_sets=True)
    assert all(size % 5 == 0 for size in sizes(asked, 0.01, workers=2))


def test_both_workers_are_kept_busy():
    """Draws of 10 ms that differ by a factor of three, on two threads."""

    def call(words, theta):
        time.sleep(0.005 + 0.01 * (int(words[0]) % 100) / 100)
        return 0.0

    asked = request(40, 4)
    executor = ThreadPoolExecutor(2)
    pool = Pool(2, lambda: executor, replaceable=False, abandon=lambda: None)
    start, spent = time.monotonic(), 0.0
    for _, drawn in draw_pieces(call, asked, np.ones((40, 4), bool), pool):
        spent += float(drawn.seconds.sum())
    share = spent / (2 * (time.monotonic() - start))
    assert share > 0.5  # 0.95 on a machine with nothing else to do: benchmarks/simulators.py
    assert pliant.PythonSimulator(call, executor=executor).pool_size == 2


ALL = np.ones((50, 4), bool)


class Breaking(Executor):
    """It makes a piece at once; the one numbered ``at`` breaks it, here or in its worker."""

    def __init__(self, at, *, when_submitted):
        self.at, self.when_submitted, self.count = at, when_submitted, 0

    def submit(self, fn, /, *args, **kwargs):
        self.count += 1
        future = Future()
        if self.count != self.at:
            future.set_result(fn(*args, **kwargs))
        elif self.when_submitted:
            raise BrokenExecutor("dead")
        else:
            future.set_exception(BrokenExecutor("dead"))
        return future


@pytest.mark.parametrize(("at", "when_submitted", "finished"), [(15, True, 14), (1, False, 19)])
def test_finished_draws_are_passed_on_when_the_executor_breaks(at, when_submitted, finished):
    executor = Breaking(at, when_submitted=when_submitted)
    pool = Pool(10, lambda: executor, replaceable=False, abandon=lambda: None)
    made = []

    def collect():
        for places, _ in draw_pieces(lambda words, theta: 0.0, request(50, 4), ALL, pool):
            made.extend(places.tolist())

    with pytest.raises(ExecutorError, match="a worker died"):
        collect()
    assert len(made) == len(set(made)) == finished  # nothing is known yet: one draw per piece


def test_a_cluster_that_does_not_answer_is_an_executors_error():
    class Client:
        def ncores(self):
            raise OSError("timed out")

    executor: Any = ThreadPoolExecutor(1)
    executor._client = Client()
    with pytest.raises(ExecutorError, match="does not answer: timed out"):
        worker_count(executor)
