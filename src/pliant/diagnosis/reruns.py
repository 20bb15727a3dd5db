"""Calibration by runs of their own: the whole method, on sets that the posterior simulates."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

import loky
import numpy as np
from jaxtyping import Float

from pliant.diagnosis.calibration import Calibration
from pliant.diagnosis.evidence import Evidence
from pliant.methods.base import AbstractMethod
from pliant.methods.status import PliantWarning
from pliant.problem.problem import Problem
from pliant.problem.samples import as_table
from pliant.run import folder as layout
from pliant.run.infer import infer, resume
from pliant.run.result import Result, load

_SAMPLES = 1000  # of each posterior


class Rerun(NamedTuple):
    """A run given the observed and a simulated set."""

    problem: Problem
    method: AbstractMethod
    seed: int
    truth: Float[np.ndarray, " columns"]
    """The parameter that simulated the set."""
    folder: Path | None


def rerun_calibration(
    evidence: Evidence,
    method: AbstractMethod,
    *,
    reruns: int,
    workers: int = 1,
    folder: Path | None = None,
    advance: Callable[[str], Any] = lambda text: None,
) -> tuple[Calibration, int]:
    """Ranks of parameters in the posteriors of whole runs (posterior SBC).

    A parameter of the posterior simulates a set, which the observed set is extended by: the
    posterior given both has the parameter at a uniform rank, if the method is right.

    Args:
        evidence: With the simulated sets.
        method: What is run again.
        reruns: How many sets, at most as many as were simulated.
        workers: Processes that run at a time.
        folder: Where the runs are kept, one folder each; those that are there are not made again.
        advance: Called with what is being done.

    Raises:
        ValueError: If there are not as many simulated sets, or the folder holds other runs.

    Returns:
        The ranks, and how many of the runs ended without success.
    """
    if reruns > evidence.n_sets:
        raise ValueError(f"reruns: expected {evidence.n_sets} at most, got {reruns}.")
    jobs = [_job(evidence, method, index, folder) for index in range(reruns)]
    found: dict[int, tuple[np.ndarray, np.ndarray, bool]] = {}
    for index, value in _performed(jobs, workers):
        found[index] = value
        advance(f"run {len(found)} of {reruns} on simulated sets")
    ranks = np.stack([found[i][0] for i in range(reruns)])
    variance = np.mean([found[i][1] for i in range(reruns)], axis=0)
    spread = evidence.theta.var(axis=0)
    contraction = np.clip(variance / np.where(spread > 0, spread, 1.0), 0.5, 0.98)
    failed = sum(not found[i][2] for i in range(reruns))
    return Calibration(evidence.names, ranks, contraction, 1.0), failed


def _job(evidence: Evidence, method: AbstractMethod, index: int, folder: Path | None) -> Rerun:
    ok = np.asarray(evidence.sets.ok)[index]
    x = np.asarray(evidence.sets.x)[index][ok]
    seen = None if evidence.sets.seen is None else np.asarray(evidence.sets.seen)[index][ok]
    problem = evidence.problem.with_more(x, np.flatnonzero(ok), seen)
    place = None if folder is None else folder / f"{index:03d}"
    return Rerun(problem, method, index, evidence.theta[index], place)


def _performed(
    jobs: list[Rerun], workers: int
) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray, bool]]]:
    if workers == 1:
        yield from ((index, _perform(job)) for index, job in enumerate(jobs))
        return
    executor = loky.ProcessPoolExecutor(workers)
    try:
        futures: dict[Any, int] = {
            executor.submit(_perform, job): index for index, job in enumerate(jobs)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def _perform(job: Rerun) -> tuple[np.ndarray, np.ndarray, bool]:
    """The rank of the true parameter, the variance of the posterior, and whether it succeeded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PliantWarning)
        result = _result(job)
    names = job.problem.prior.space.names
    _, values = as_table(result.posterior.sample(_SAMPLES, seed=job.seed), names)
    below, equal = values < job.truth, values == job.truth
    rank = (below + 0.5 * equal).mean(axis=0)
    return rank, values.var(axis=0), result.status.is_success


def _result(job: Rerun) -> Result:
    if job.folder is None or not layout.holds_run(job.folder):
        return infer(job.problem, job.method, seed=job.seed, folder=job.folder, progress=False)
    if layout.holds_result(job.folder):
        return load(job.folder)
    return resume(job.folder, job.problem, progress=False)
