"""Simulators that fail, hang, and end in odd ways.

Attacks with workers run in processes of their own, after which nothing may be left.
"""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from attacks.campaign import DIFFERENCE, LOST, ORPHAN, TRACEBACK, Arena, Attack, expect
from attacks.models import infer, posterior, problem, quick

EXECUTORS, SENDING = "2 dead executors", "13 simulators and data of odd types"
ENDS, FAILED, LEFT = "10 simulators that end oddly", "11 failed runs", "12 programs and workers"


class UnprintableError(Exception):
    """An error that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Ending(BaseException):
    """Not an ``Exception``, so most handlers let it pass."""


def _raises(error: Callable[[], BaseException]) -> Callable:
    def simulate(rng, theta):
        if theta["mu"] > 1.0:
            raise error()
        return quick(rng, theta)

    return simulate


def _returns(value: Any) -> Callable:
    return lambda rng, theta: value if theta["mu"] > 1.0 else quick(rng, theta)


def _endless(rng, theta):
    return quick(rng, theta) if theta["mu"] <= 1.0 else _endless(rng, theta)


ODD = {
    "sys.exit": _raises(lambda: SystemExit(0)),
    "sys.exit with text": _raises(lambda: SystemExit("over")),
    "an exception that cannot be shown": _raises(UnprintableError),
    "a BaseException": _raises(Ending),
    "GeneratorExit": _raises(GeneratorExit),
    "StopIteration": _raises(StopIteration),
    "MemoryError": _raises(MemoryError),
    "endless recursion": _endless,
    "an OSError": _raises(lambda: OSError(28, "No space left on device")),
    "a message of many lines": _raises(lambda: ValueError("a\nb\n" * 9999)),
    "control characters": _raises(lambda: ValueError("\x1b[2J\x00")),
    "None": _returns(None),
    "text": _returns("text"),
    "an object": _returns(object()),
    "objects": _returns(np.array([object(), None])),
    "complex numbers": _returns(np.array([1j, 2.0])),
    "a wrong shape": _returns(np.zeros(3)),
    "ragged lists": _returns([[1.0], [1.0, 2.0]]),
    "infinite numbers": _returns(np.array([np.inf, -np.inf])),
    "numbers beyond single precision": _returns(np.array([1e300, -1e300])),
    "a masked array": _returns(np.ma.masked_array([1.0, 2.0], mask=[True, False])),
    "dates": _returns(np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")),
    "its own generator": lambda rng, theta: rng if theta["mu"] > 1.0 else quick(rng, theta),
}


def _survives(simulate: Callable):
    """Draws above 1 fail and are counted; all others are used, and the samples are finite."""

    def act(arena: Arena) -> None:
        with warnings.catch_warnings(action="ignore"):
            result = infer(problem(simulate), arena.folder / "run")
        expect(not result.status.is_error, LOST, f"{result.status}: {result.message}")
        expect(sum(f.draws for f in result.failures) > 0, DIFFERENCE, "no failure is counted")
        expect(np.isfinite(result.posterior.sample(50)["mu"]).all(), DIFFERENCE, "not finite")

    return act


def _in_child(name: str):
    def act(arena: Arena) -> None:
        code, text = arena.children.call(f"simulators:{name}", folder=str(arena.folder))
        expect("Processes are left" not in text, ORPHAN, text)
        expect("Fault" not in text, DIFFERENCE, text[-500:])
        expect(code == 0, TRACEBACK, text[-500:])

    act.__name__ = name
    return act


# ---- in processes of their own ----


def odd_workers(folder: str) -> None:
    """All odd ends at once, in workers: the same bits as without them."""
    names = sorted(ODD)

    def simulate(rng, theta):
        return ODD[names[int(rng.integers(len(names)))]](rng, theta)

    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cloudpickle.register_pickle_by_value(sys.modules["attacks.models"])
    with warnings.catch_warnings(action="ignore"):
        infer(problem(simulate), Path(folder, "serial"))
        infer(problem(simulate, workers=2), Path(folder, "workers"))
    same = posterior(Path(folder, "serial")) == posterior(Path(folder, "workers"))
    expect(same, DIFFERENCE, "another posterior with workers")


def dead_workers(folder: str) -> None:
    """Some draws end their worker without a word; they fail alone."""

    def simulate(rng, theta):
        if 1.0 < theta["mu"] < 1.3:
            os._exit(11)
        return theta["mu"] + rng.normal(size=2)

    with warnings.catch_warnings(action="ignore"):
        result = infer(problem(simulate, workers=2))
    expect(not result.status.is_error, LOST, result.message)


def _dead_executor(folder: str, fatal: int) -> None:
    """One of an executor's workers dies: what was drawn is kept, and the run goes on without it."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    import cloudpickle

    import pliant.run.ledger
    from pliant._files import read_arrays

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    pliant.run.ledger._SECONDS = 0.0
    notes = Path(folder, "notes")

    def simulate(rng, theta):
        with notes.open("ab") as file:
            file.write(b".")
        time.sleep(0.02)
        if notes.stat().st_size == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return theta["mu"] + 0.5 * rng.normal(size=2)

    run, calls = Path(folder, "run"), []
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor,
        warnings.catch_warnings(action="ignore"),
    ):
        broken = infer(problem(simulate, executor=executor), run)
    expect(broken.status == "failed", DIFFERENCE, broken.status)
    paid = sum(len(read_arrays(path)["code"]) for path in run.glob("simulations/*/*.npz"))
    expect(paid >= fatal - 40, LOST, f"{paid} draws are kept of {fatal}")

    def counted(rng, theta):
        calls.append(1)
        return quick(rng, theta)

    pliant.resume(run, problem(counted), progress=False)
    infer(problem(), Path(folder, "whole"))
    expect(posterior(run) == posterior(Path(folder, "whole")), DIFFERENCE, "another posterior")
    expect(len(calls) == 192 - paid, LOST, f"{len(calls)} draws are made again, {paid} were kept")


def dead_executor_early(folder: str) -> None:
    """In the first round."""
    _dead_executor(folder, 30)


def dead_executor_late(folder: str) -> None:
    """In the last round."""
    _dead_executor(folder, 150)


def detached_programs(folder: str) -> None:
    """Programs that leave their session and never end are killed at the timeout."""
    words = ["sh", "-c", "setsid sleep 311 & setsid sleep 311; echo '[1, 2]'"]
    simulator = pliant.CommandSimulator(words, timeout=0.3, workers=4, event=(2,))
    import jax

    keys = jax.random.split(jax.random.key(0), 4)
    _, ok = simulator.simulate(keys, {"mu": np.zeros(4)}, 1)
    expect(not np.asarray(ok).any(), DIFFERENCE, "draws that never ended are usable")


def deserted_workers(folder: str) -> None:
    """The process ends in the middle of a round, without a word to its workers."""

    def simulate(rng, theta):
        time.sleep(300)

    threading.Timer(3.0, os._exit, [0]).start()
    infer(problem(simulate, workers=2))


def swallowed_timeouts(folder: str) -> None:
    """A simulator that catches everything cannot stop its own timeout."""

    def simulate(rng, theta):
        if theta["mu"] > 3.0:
            for _ in range(3):
                try:
                    time.sleep(100)
                except Exception:
                    continue
        return quick(rng, theta)

    with warnings.catch_warnings(action="ignore"):
        result = infer(problem(simulate, timeout=0.05))
    expect(not result.status.is_error, LOST, result.message)


CHILDREN = {
    EXECUTORS: (dead_executor_early, dead_executor_late),
    ENDS: (odd_workers, dead_workers),
    LEFT: (detached_programs, deserted_workers),
    SENDING: (swallowed_timeouts,),
}


def _failed(arena: Arena) -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = infer(problem(lambda rng, theta: 1 / 0), arena.folder / "run")
    expect(result.status == "failed", DIFFERENCE, result.status)
    kinds = [w for w in caught if issubclass(w.category, pliant.PliantWarning)]
    expect(kinds, DIFFERENCE, "no warning")
    expect(not (arena.folder / "run").exists(), ORPHAN, "the folder is left")


def _failed_command(arena: Arena) -> None:
    from attacks.campaign import command
    from attacks.models import TINY

    target = f"{arena.runs / 'model.py'}:broken"
    outcome = command("run", target, *TINY, "--out", arena.folder / "run")
    expect(outcome.exit_code == 1, DIFFERENCE, f"exit code {outcome.exit_code}: {outcome.output}")
    expect("ZeroDivisionError" in outcome.output, DIFFERENCE, "the reason is not shown")


def _not_finite(arena: Arena) -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = infer(problem(lambda rng, theta: np.full(2, np.nan)))
    expect(result.status == "failed" and caught, DIFFERENCE, f"{result.status}, {len(caught)}")


ATTACKS = [
    *(Attack(ENDS, name, _survives(simulate)) for name, simulate in ODD.items()),
    *(Attack(FAILED, act.__name__, act) for act in (_failed, _failed_command, _not_finite)),
    *(
        Attack(group, call.__name__, _in_child(call.__name__), slow=True)
        for group, calls in CHILDREN.items()
        for call in calls
    ),
]
