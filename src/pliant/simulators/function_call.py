"""One call of a Python function, with its own random generator and a time limit.

Workers import this module, so it imports neither JAX nor the rest of Pliant.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator
from numpy.random.bit_generator import ISeedSequence

from pliant.simulators.worker import OutOfTimeError

if TYPE_CHECKING:
    from jaxtyping import UInt

_HARD = 2.0  # timeouts after which a worker exits: its draw is stuck in compiled code
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_owned = False  # whether this process is a worker that may end itself


@dataclass
class FunctionCall:
    """Calls ``function(rng, theta)``, with a condition if there are any.

    A function of sets gets the number of draws, or their conditions.
    """

    function: Callable[..., Any]
    timeout: float | None

    def __call__(self, words: UInt[np.ndarray, "4"], theta: Any, *more: Any) -> Any:
        """A draw, or a set, from 256 random bits."""
        rng = Generator(PCG64(_Words(words)))  # pyright: ignore[reportArgumentType]
        if self.timeout is None:
            return self.function(rng, theta, *more)
        if threading.current_thread() is not threading.main_thread():
            return _in_thread(lambda: self.function(rng, theta, *more), self.timeout)
        began = time.monotonic()
        try:
            with _alarm(self.timeout):
                return self.function(rng, theta, *more)
        finally:  # the function may have caught the error, or replaced the alarm
            late = time.monotonic() - began > self.timeout
            if late and not isinstance(sys.exception(), KeyboardInterrupt | OutOfTimeError):
                raise OutOfTimeError(f"took longer than {self.timeout:g} s")


def own_worker(parent: int, by_kernel: bool = False) -> None:
    """Make this process a worker of ``parent`` that exits when its parent does.

    Args:
        parent: Its process id.
        by_kernel: Let Linux kill this process when the thread that started it ends. This works
            even while compiled code holds the interpreter lock, and is only right if that
            thread is the parent's main thread.
    """
    global _owned
    _owned = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and stops its workers
    if by_kernel and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel knew
        os._exit(1)

    def watch() -> None:
        pause = threading.Event()
        while os.getppid() == parent:
            pause.wait(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Words(ISeedSequence):
    """Passes random words to a bit generator unchanged: they are already mixed."""

    def __init__(self, words: UInt[np.ndarray, "4"]):
        self.words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        return self.words


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise in the main thread after some seconds; a worker stuck in C exits later.

    It raises again each second until the call ends: a loop may catch the error.
    """
    over = False

    def ring(number: int, frame: Any) -> None:
        if not over:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1.0))
            raise OutOfTimeError(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    if _owned:
        faulthandler.dump_traceback_later(_HARD * seconds + 1, exit=True, file=_nowhere())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _owned:
            faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _in_thread(call: Callable[[], Any], seconds: float) -> Any:
    """``call()`` in a thread that is abandoned when time is up."""
    outcome: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            outcome.append((True, call()))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise OutOfTimeError(f"took longer than {seconds:g} s")
    worked, value = outcome[0]
    if not worked:
        raise value
    return value


@cache
def _nowhere() -> Any:
    return open(os.devnull, "w")
