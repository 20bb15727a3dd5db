"""The fault campaign: 12 runs that fail, hang and are killed, and come to the same posterior.

In all of them 5 % of the draws raise, 5 % are not finite, and 2 % hang. Nine use two
workers, and in every second one of these a worker is killed at a random moment; in the other three
the process that runs the inference is killed, once or twice: with its workers, or with the programs
that it runs. Nothing may stay behind.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import numpy as np
import psutil
import pytest

import fault_runs
import pliant
import pliant.run.ledger

cloudpickle.register_pickle_by_value(fault_runs)  # workers need not import JAX


def samples(result):
    return result.posterior.sample(100)["mu"]


def assert_same(result, reference):
    assert result.status == reference.status in ("finished", "cut_short")
    np.testing.assert_array_equal(samples(result), samples(reference))
    kinds = {failure.kind: failure.draws for failure in reference.failures}
    assert {failure.kind: failure.draws for failure in result.failures} == kinds


@pytest.fixture(scope="module")
def reference():
    """What an undisturbed run in one process gives."""
    result = pliant.infer(
        fault_runs.problem("serial"), fault_runs.method(), seed=fault_runs.SEEDS["serial"]
    )
    assert {failure.kind for failure in result.failures} == {"exception", "not finite", "timeout"}
    return result


def workers():
    """The worker processes of this one."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has just died
            found += [child.pid] if "popen_loky" in " ".join(child.cmdline()) else []
    return found


def test_workers_are_killed(reference, tmp_path):
    rng, killed = random.Random(0), []

    def kill():
        for pid in workers()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    for number in range(9):
        killer = threading.Timer(rng.uniform(0.05, 0.7), kill if number % 2 else bool)
        killer.start()
        result = pliant.infer(
            fault_runs.problem("workers"),
            fault_runs.method(),
            seed=fault_runs.SEEDS["workers"],
            folder=tmp_path / str(number),
        )
        killer.cancel()
        killer.join()
        assert_same(result, reference)
    assert len(killed) >= 2


@pytest.mark.parametrize("fatal", [20, 100])  # in the first of two rounds, and in the second
def test_an_executor_dies_and_the_run_goes_on_with_another(fatal, tmp_path, monkeypatch):
    """Its workers make 64 draws per round; one kills itself, which breaks the executor."""
    monkeypatch.setattr(pliant.run.ledger, "_SECONDS", 0.0)
    folder, calls = tmp_path / "run", []
    reference = pliant.infer(fault_runs.counted(calls.append), fault_runs.method())
    assert len(calls) == 128
    note = fault_runs.killer(tmp_path / "calls", fatal)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        problem = fault_runs.counted(note, executor=executor)
        with pytest.warns(pliant.PliantWarning, match="a worker died"):
            broken = pliant.infer(problem, fault_runs.method(), folder=folder)
    assert broken.status == "failed"
    assert "a worker died" in broken.message
    assert f"continue with pliant.resume({str(folder)!r}, problem)" in broken.message
    assert len(fault_runs.paid(folder)) >= fatal - 10  # all but the pieces that were in work
    calls.clear()
    before = len(fault_runs.paid(folder))
    resumed = pliant.resume(folder, fault_runs.counted(calls.append))
    assert resumed.status in ("finished", "cut_short")
    assert len(calls) == 128 - before
    np.testing.assert_array_equal(samples(resumed), samples(reference))


def test_the_main_process_is_killed(reference, tmp_path):
    rng = random.Random(1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    expected = {"workers": samples(reference)}
    killed = 0
    with contextlib.closing(fault_runs.Runs(scratch)) as runs:
        for number, kind in enumerate(["programs", "programs", "workers", "programs"]):
            folder = tmp_path / str(number)
            kills = 0 if number == 0 else 1 + (number == 1)  # the first one is undisturbed
            status = None
            for attempt in range(kills + 1):
                run = {"folder": str(folder), "kind": kind}
                child = runs.start(run, mortal=attempt < kills)
                if attempt < kills:
                    time.sleep(rng.uniform(0.3, 2.0))
                    runs.kill(child)
                status = runs.wait()
                killed += status == signal.SIGKILL
                assert not runs.left_behind()
            assert status == 0
            result = pliant.load(folder)
            assert result.status in ("finished", "cut_short")
            np.testing.assert_array_equal(
                samples(result), expected.setdefault(kind, samples(result))
            )
            assert {f.kind for f in result.failures} == {"exception", "not finite", "timeout"}
    assert killed >= 2
