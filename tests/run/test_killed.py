"""Killed until done: runs that are killed at random moments, resumed, and killed again.

Each method runs with a simulator in Python, two also with one in JAX, whose draws are not kept, and
PLI also with workers and with programs. An attempt may live longer than the one before, until one
ends by itself. No attempt may lose what an earlier one had, and the result is that of a run which
nobody disturbed, bit for bit.

The moments follow from a seed. Others are tried by ``PLIANT_KILL_SEED=1 pytest test_killed.py``.
"""

import contextlib
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fault_runs
import pliant
from pliant._files import is_unfinished, read_arrays, read_json
from pliant.run.folder import holds_result, holds_run, numbered
from pliant.run.history import read_history

SEED = int(os.environ.get("PLIANT_KILL_SEED", "0"))
LANES = ("likelihood", "APT"), ("MMD", "rejection", "SMC", "PMC", "MH")  # run side by side
CASES = [
    *((method, "sound serial") for lane in LANES for method in lane),
    *(("MMD", kind) for kind in ("sound jax", "sound workers", "sound programs")),
    ("SMC", "sound jax"),
]
CLOCK = {"seconds", "busy"}  # columns of the history that differ from run to run
FIRST, GROWTH = 0.1, 3.0  # the longest life of the first attempt in seconds, and its growth


class Progress:
    """What a run has on the disk. Every file is complete."""

    def __init__(self, folder):
        for path in filter(lambda path: not is_unfinished(path), folder.rglob("*.json")):
            read_json(path)
        rounds = numbered(folder / "rounds")
        for path in rounds.values():
            read_arrays(path)
        draws = fault_runs.paid(folder)
        self.rounds, self.paid = max(rounds, default=-1), set(draws)
        assert len(self.paid) == len(draws)  # none was made twice
        self.is_running = holds_run(folder) and not holds_result(folder)
        if holds_result(folder):
            assert len(pliant.load(folder).history) == self.rounds

    def goes_on_from(self, before):
        return self.rounds >= before.rounds and self.paid >= before.paid


def wait_until_open(folder, child, seconds=60):
    """Wait until a process has opened the folder of its run."""
    lock, end = folder / "rounds" / ".lock", time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            if lock.read_text().startswith(f"process {child} on "):
                return
        time.sleep(0.002)
    pytest.fail(f"process {child} did not open {folder}")


def make_undisturbed(runs, top, cases):
    """The runs to compare with, in one process, which also keeps their compiled code."""
    wanted = [
        {"folder": str(top / "-".join(case)), "method": case[0], "kind": case[1]} for case in cases
    ]
    runs.start(*wanted, mortal=False)
    assert runs.wait() == 0
    assert not runs.left_behind()


def kill_until_done(runs, folder, method, kind):
    """The number of attempts that were killed while the run was in progress."""
    rng, life, killed = random.Random(f"{SEED} {method} {kind}"), FIRST, 0
    status, before = None, Progress(folder)
    while status != 0:
        child = runs.start({"folder": str(folder), "method": method, "kind": kind}, mortal=True)
        try:
            if status is not None:  # the first one may die before it begins
                wait_until_open(folder, child)
            time.sleep(rng.uniform(0, life))
        finally:
            runs.kill(child)
            status = runs.wait()
        assert status in (0, signal.SIGKILL)
        assert not runs.left_behind()
        now = Progress(folder)
        assert now.goes_on_from(before)
        killed += status == signal.SIGKILL and now.is_running
        before, life = now, life * GROWTH
    return killed


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Waits for a case; gives its undisturbed run, the other one, and how often that was killed."""
    top, undisturbed, killed = tmp_path_factory.mktemp("runs"), {}, {}
    with contextlib.ExitStack() as stack:
        for number, lane in enumerate(LANES):
            scratch = top / f"scratch {number}"
            scratch.mkdir()
            runs = stack.enter_context(contextlib.closing(fault_runs.Runs(scratch)))
            pool = stack.enter_context(ThreadPoolExecutor(1))
            cases = [case for case in CASES if case[0] in lane]
            reference = pool.submit(make_undisturbed, runs, top / "undisturbed", cases)
            for case in cases:
                folder = top / "killed" / "-".join(case)
                undisturbed[case] = reference
                killed[case] = pool.submit(kill_until_done, runs, folder, *case)

        def wait_for(case):
            undisturbed[case].result()
            name = "-".join(case)
            return top / "undisturbed" / name, top / "killed" / name, killed[case].result()

        yield wait_for


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case).replace("sound ", ""))
def test_a_run_that_is_killed_until_it_is_done(case, ended):
    expected, folder, killed = ended(case)
    assert killed >= 1
    mine, other = [pliant.load(path).posterior.sample(100) for path in (folder, expected)]
    np.testing.assert_array_equal(mine["mu"], other["mu"])
    assert_same_files(folder, expected)


def test_they_were_killed_often(ended):
    numbers = {"-".join(case): ended(case)[2] for case in CASES}
    print(f"killed in progress: {sum(numbers.values())} {numbers}")
    assert sum(numbers.values()) > len(CASES)


def assert_same_files(folder, expected):
    """The same result and history in bits, and nothing else left."""
    mine, other = [read_arrays(path / "posterior.npz") for path in (folder, expected)]
    assert set(mine) == set(other)
    for name, array in other.items():
        np.testing.assert_array_equal(mine[name], array, strict=True)
    assert read_json(folder / "result.json") == read_json(expected / "result.json")
    assert history(folder) == history(expected)
    assert set(fault_runs.paid(folder)) == set(fault_runs.paid(expected))
    assert names(folder) == names(expected)


def history(folder):
    rows = read_history(folder)
    return [{name: row[name] for name in row if name not in CLOCK} for row in rows]


def names(folder):
    """All files; a ledger may be in more of them."""
    found = {path.relative_to(folder) for path in folder.rglob("*")}
    return {path.parent if path.name[:5].isdigit() else path for path in found}
