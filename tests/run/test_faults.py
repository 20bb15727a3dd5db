"""The fault campaign: 12 runs that fail, hang and are killed, and come to the same posterior.

In all of them 5 % of the draws raise, 5 % are not finite, and 2 % hang. Nine use two
workers, and in every second one of these a worker is killed at a random moment; in the other three
the process that runs the inference is killed, once or twice: with its workers, or with the programs
that it runs. Nothing may stay behind.
"""

import contextlib
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cloudpickle
import numpy as np
import psutil
import pytest

import fault_runs
import pliant
import pliant.run.ledger
from pliant._files import read_arrays

cloudpickle.register_pickle_by_value(fault_runs)  # workers need not import JAX
COMPILED = Path(__file__).parents[2] / ".pytest_cache" / "compiled"


def samples(result):
    return result.posterior.sample(100)["mu"]


def assert_same(result, reference):
    assert result.status == reference.status == "finished"
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


def paid(folder):
    """The number of draws in the ledgers of a run."""
    return sum(len(read_arrays(path)["code"]) for path in folder.glob("simulations/*/*.npz"))


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
    assert paid(folder) >= fatal - 10  # all but the pieces that were in work
    calls.clear()
    before = paid(folder)
    resumed = pliant.resume(folder, fault_runs.counted(calls.append))
    assert resumed.status == "finished"
    assert len(calls) == 128 - before
    np.testing.assert_array_equal(samples(resumed), samples(reference))


def kill_and_tell_family(pid):
    """The processes that a killed one had started; none if it had ended before."""
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        family = psutil.Process(pid).children(recursive=True)
        os.kill(pid, signal.SIGKILL)
        return family
    return []


class Runs:
    """A process that has imported everything, and forks one for each run."""

    def __init__(self, scratch):
        source = str(Path(pliant.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, fault_runs.__file__, str(COMPILED), str(scratch)],
            env={**os.environ, "PYTHONPATH": source, "TMPDIR": str(scratch)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, **run):
        print(json.dumps(run), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def wait(self):
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def test_the_main_process_is_killed(reference, tmp_path):
    rng = random.Random(1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    runs = Runs(scratch)
    expected = {"workers": samples(reference)}
    killed = 0
    try:
        for number, kind in enumerate(["programs", "programs", "workers", "programs"]):
            folder = tmp_path / str(number)
            kills = 0 if number == 0 else 1 + (number == 1)  # the first one is undisturbed
            status, family = None, []
            for attempt in range(kills + 1):
                begun = (folder / "run.json").exists()
                child = runs.start(kind=kind, folder=str(folder), resume=begun)
                if attempt < kills:
                    time.sleep(rng.uniform(0.3, 2.0))
                    family = kill_and_tell_family(child)
                status = runs.wait()
                if attempt < kills:
                    killed += status == signal.SIGKILL
                    _, alive = psutil.wait_procs(family, timeout=15)
                    assert not alive
                    assert not list(scratch.glob("pliant-*"))
            assert status == 0
            result = pliant.load(folder)
            assert result.status == "finished"
            np.testing.assert_array_equal(
                samples(result), expected.setdefault(kind, samples(result))
            )
            assert {f.kind for f in result.failures} == {"exception", "not finite", "timeout"}
    finally:
        runs.close()
    assert killed >= 2
    assert not list(scratch.glob("pliant-*"))
