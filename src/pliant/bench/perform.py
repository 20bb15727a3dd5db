"""Perform one run of a grid, in whatever process: from settings to a finished folder."""

import functools
import shutil
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from pliant._devices import keep_compiled_code
from pliant._files import InUseError, lock, write_arrays, write_json
from pliant.bench.folders import state, write_error, write_settings
from pliant.bench.plan import Run, build
from pliant.cli.run_folder import named
from pliant.methods.status import Status
from pliant.metrics.table import evaluate
from pliant.problem.prior import Prior
from pliant.run import folder as layout
from pliant.run.infer import infer, resume
from pliant.run.posterior import Posterior
from pliant.run.result import Result
from pliant.tasks import get
from pliant.tasks.base import AbstractTask

_PATIENCE = 600.0  # seconds to wait for a process that still works on the run


class Outcome(NamedTuple):
    """How a run went."""

    name: str
    seconds: float
    """Of this part of the run: a resumed one took longer in all."""
    text: str
    """The result's status, or the error in one line."""
    failed: bool


def perform(run: Run, folder: Path) -> Outcome:
    """Infer, score and write; or go on with a run that was killed. It never raises.

    Args:
        run: What to do.
        folder: Of the run. A finished one is left as it is; an error that is recorded in it is
            removed first.
    """
    start = time.monotonic()
    keep_compiled_code()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _waiting_lock(folder):
            text = "finished before" if state(folder) == "finished" else _perform(run, folder)
        return Outcome(run.name, time.monotonic() - start, text, failed=False)
    except Exception as error:  # one failure never stops the rest
        text = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
        write_error(folder, text, traceback.format_exc())
        return Outcome(run.name, time.monotonic() - start, text, failed=True)


class NoPosteriorError(RuntimeError):
    """The run ended without a posterior."""


def _perform(run: Run, folder: Path) -> str:
    (folder / layout.ERROR).unlink(missing_ok=True)
    write_settings(folder, run)
    task = _task(run.task)
    problem = task.problem(n_obs=run.n_obs, seed=run.seed)
    callback = _snapshots(folder, run) if run.snapshots else None
    if layout.holds_run(folder) and _snapshots_are_whole(folder, run):
        result = resume(folder, problem, progress=False, callback=callback)
    else:
        layout.remove_run(folder)
        shutil.rmtree(folder / layout.SNAPSHOTS, ignore_errors=True)
        method = build(run)
        result = infer(
            problem, method, seed=run.seed, folder=folder, progress=False, callback=callback
        )
    _finish(run, folder, task, problem, result)
    return result.status


def _finish(run: Run, folder: Path, task: AbstractTask, problem: Any, result: Result) -> None:
    """Write samples and metrics; the checkpoints have done their work."""
    if isinstance(result.posterior.density, Prior) or result.status is Status.STORAGE_FAILED:
        raise NoPosteriorError(f"{result.status}: {result.message}")
    write_arrays(folder / layout.SAMPLES, _samples(result.posterior, run.samples, run.seed))
    rows = evaluate(
        result.posterior,
        problem,
        task=task,
        n_samples=run.samples,
        seed=run.seed,
        classify=run.classify,
    )
    metrics = {
        "status": result.status,
        "message": result.message,
        "rounds": len(result.history),
        "simulations": result.history[-1]["simulations"],
        "seconds": result.history[-1]["seconds"],
        "metrics": [row._asdict() for row in rows],
    }
    layout.remove_checkpoints(folder)
    write_json(folder / layout.METRICS, metrics)


@functools.cache
def _task(name: str) -> AbstractTask:
    """One object for all runs of a process, so that they share its compiled code."""
    return get(name)


def _samples(posterior: Posterior, n: int, seed: int) -> dict[str, Any]:
    return named(posterior.sample(n, seed=seed))


def _snapshots(folder: Path, run: Run) -> Callable[[dict[str, Any], Posterior], None]:
    """A callback that keeps samples of every round's posterior."""

    def keep(row: dict[str, Any], posterior: Posterior) -> None:
        path = layout.snapshot_file(folder, row["round"])
        path.parent.mkdir(exist_ok=True)
        write_arrays(path, _samples(posterior, run.snapshots, run.seed))

    return keep


def _snapshots_are_whole(folder: Path, run: Run) -> bool:
    """Whether a run that is resumed will have samples of all its rounds.

    A run that is killed between a checkpoint and the samples of its round has not.
    """
    last = max(layout.numbered(folder / layout.ROUNDS), default=0)
    kept = layout.numbered(folder / layout.SNAPSHOTS)
    return run.snapshots == 0 or set(range(1, last + 1)) <= set(kept)


def _waiting_lock(folder: Path) -> IO[str]:
    """The folder for this process alone; one that is being killed may take a moment."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return lock(folder / layout.LOCK, folder)
        except InUseError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
