"""Perform one run of a grid in any process: infer, score, and write the folder."""

import functools
import time
import traceback
import warnings
from pathlib import Path
from typing import IO, Any, NamedTuple

from pliant._checks import error_text
from pliant._devices import keep_compiled_code
from pliant._files import InUseError, lock, write_arrays, write_json
from pliant.bench.folders import state, write_error, write_settings
from pliant.bench.plan import Run
from pliant.methods.status import PliantWarning, Status
from pliant.metrics.table import evaluate
from pliant.problem.prior import Prior
from pliant.problem.samples import named
from pliant.run import folder as layout
from pliant.run.infer import Callback, infer, resume
from pliant.run.ownership import (
    check_own,
    remove_checkpoints,
    remove_run,
    remove_snapshots,
)
from pliant.run.posterior import Posterior
from pliant.run.result import Result
from pliant.tasks import get
from pliant.tasks.base import AbstractTask

_PATIENCE = 600.0  # seconds to wait for another process that still holds the run


class RunOutcome(NamedTuple):
    """How a run ended."""

    name: str
    seconds: float
    """Since the run was started or resumed here."""
    text: str
    """The result's status, or the error in one line."""
    failed: bool


def perform(run: Run, folder: Path) -> RunOutcome:
    """Infer, score and write, or resume a run that was killed. Never raises.

    A finished run stays as it is; a recorded error is discarded.
    """
    start = time.monotonic()
    keep_compiled_code()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _waiting_lock(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore", PliantWarning)  # the status is recorded
            text = "finished before" if state(folder) == "finished" else _perform(run, folder)
        return RunOutcome(run.name, time.monotonic() - start, text, failed=False)
    except Exception as error:  # one failure must not stop the other runs
        text = error_text(error)
        write_error(folder, text, traceback.format_exc())
        return RunOutcome(run.name, time.monotonic() - start, text, failed=True)


class NoPosteriorError(RuntimeError):
    """The run ended without a posterior."""


def _perform(run: Run, folder: Path) -> str:
    check_own(folder)
    (folder / layout.ERROR).unlink(missing_ok=True)
    write_settings(folder, run)
    task = _task(run.task)
    problem = task.problem(n_obs=run.n_obs, seed=run.seed)
    options: Any = {"progress": False, "callback": _snapshots(folder, run)}
    if layout.holds_run(folder) and _snapshots_are_whole(folder, run):
        result = resume(folder, problem, **options)
    else:
        remove_run(folder)
        remove_snapshots(folder)
        result = infer(problem, run.built_method, seed=run.seed, folder=folder, **options)
    _finish(run, folder, task, problem, result)
    return result.status


def _finish(run: Run, folder: Path, task: AbstractTask, problem: Any, result: Result) -> None:
    """Write samples and metrics, and remove the checkpoints."""
    if isinstance(result.posterior.density, Prior) or result.status is Status.STORAGE_FAILED:
        raise NoPosteriorError(f"{result.status}: {result.message}")
    write_arrays(folder / layout.SAMPLES, _samples(result.posterior, run.samples, run.seed))
    options: Any = {"n_samples": run.samples, "seed": run.seed, "classify": run.classify}
    rows = evaluate(result.posterior, problem, task=task, **options)
    metrics = {
        "status": result.status,
        "message": result.message,
        "rounds": len(result.history),
        "simulations": result.history[-1]["simulations"],
        "seconds": result.history[-1]["seconds"],
        "metrics": [row._asdict() for row in rows],
    }
    remove_checkpoints(folder)
    write_json(folder / layout.METRICS, metrics)


@functools.cache
def _task(name: str) -> AbstractTask:
    """One object per process: all its runs share the compiled code."""
    return get(name)


def _samples(posterior: Posterior, n: int, seed: int) -> dict[str, Any]:
    return named(posterior.sample(n, seed=seed))


def _snapshots(folder: Path, run: Run) -> Callback | None:
    """A callback that stores posterior samples after each round, if the run keeps them."""

    def keep(row: dict[str, Any], posterior: Posterior) -> None:
        path = layout.snapshot_file(folder, row["round"])
        path.parent.mkdir(exist_ok=True)
        write_arrays(path, _samples(posterior, run.snapshots, run.seed))

    return keep if run.snapshots else None


def _snapshots_are_whole(folder: Path, run: Run) -> bool:
    """Whether every checkpointed round has its snapshot.

    A run that was killed between a checkpoint and its snapshot lacks one.
    """
    last = max(layout.numbered(folder / layout.ROUNDS), default=0)
    kept = layout.numbered(folder / layout.SNAPSHOTS)
    return run.snapshots == 0 or set(range(1, last + 1)) <= set(kept)


def _waiting_lock(folder: Path) -> IO[str]:
    """Lock the folder; a process that is being killed may hold it for a moment."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return lock(folder / layout.LOCK, folder)
        except InUseError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
