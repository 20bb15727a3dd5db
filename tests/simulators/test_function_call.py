"""One call of a function: its generator, and its time limit in any thread."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.simulators.function_call import FunctionCall
from pliant.simulators.worker import OutOfTimeError

WORDS = np.array([1, 2, 3, 4], np.uint64)


def test_the_same_words_give_the_same_generator():
    call = FunctionCall(lambda rng, theta: rng.normal(theta, size=3), None)
    np.testing.assert_array_equal(call(WORDS, 1.0), call(WORDS, 1.0))
    assert np.all(call(WORDS, 1.0) != call(WORDS + np.uint64(1), 1.0))


def test_a_set_gets_its_size():
    assert FunctionCall(lambda rng, theta, n: np.full(n, theta), None)(WORDS, 2.0, 5).sum() == 10


def sleeps(rng, theta):
    time.sleep(theta)
    return theta


def outcome(call, theta, found):
    try:
        found.append(call(WORDS, theta))
    except OutOfTimeError as error:
        found.append(error)


@pytest.mark.parametrize("in_main", [True, False])
def test_a_call_that_takes_too_long_is_abandoned(in_main):
    call, found, began = FunctionCall(sleeps, 0.3), [], time.monotonic()
    for theta in (0.0, 20.0):
        if in_main:
            outcome(call, theta, found)
        else:
            thread = threading.Thread(target=outcome, args=(call, theta, found))
            thread.start()
            thread.join()
    assert time.monotonic() - began < 15
    assert found[0] == 0.0
    assert isinstance(found[1], OutOfTimeError)
    assert "longer than 0.3 s" in str(found[1])


def swallows(rng, theta):
    for _ in range(2):
        with contextlib.suppress(BaseException):
            time.sleep(theta)
    return theta


def reports(rng, theta):
    try:
        time.sleep(theta)
    except BaseException as error:
        raise RuntimeError("interrupted") from error


def replaces(rng, theta):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(theta)
    return theta


@pytest.mark.parametrize("function", [swallows, reports, replaces])
def test_a_call_that_hides_its_timeout_is_late_all_the_same(function):
    before = signal.getsignal(signal.SIGALRM)
    began = time.monotonic()
    with pytest.raises(OutOfTimeError, match=r"longer than 0\.1 s"):
        FunctionCall(function, 0.1)(WORDS, 0.5 if function is replaces else 20.0)
    assert time.monotonic() - began < 15
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("in_main", [True, False])
def test_an_error_comes_through(in_main, error):
    def fails(rng, theta):
        raise error

    call = FunctionCall(fails, 5.0)
    errors = []

    def run():
        try:
            call(WORDS, 0)
        except error as found:
            errors.append(found)

    if in_main:
        run()
    else:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert len(errors) == 1


STARTS = "import subprocess, sys; subprocess.run(sys.argv[1:])"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_worker_stuck_in_compiled_code_ends_with_its_parent():
    stuck = """
import ctypes, os
from pliant.simulators.function_call import own_worker
own_worker(os.getppid(), True)
print(os.getpid(), flush=True)
ctypes.PyDLL(None).sleep(60)  # holds the interpreter lock
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS, sys.executable, "-c", stuck],
        env={**os.environ, "PYTHONPATH": str(Path(pliant.__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().strip().isdigit()
        began = time.monotonic()
        parent.kill()
        assert parent.stdout.read() == ""  # the end of the file is that of the worker
    assert time.monotonic() - began < 30
