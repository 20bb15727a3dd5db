"""``pliant.diagnose``: all checks of a posterior, in the order in which they are read."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax

from pliant._checks import check_instance, check_integer, check_path, check_seed
from pliant.diagnosis.arrived import check_arrival
from pliant.diagnosis.calibration import (
    check_calibration,
    check_reruns,
    coordinate_calibration,
    likelihood_calibration,
)
from pliant.diagnosis.determination import check_determination
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.diagnosis.elsewhere import check_elsewhere
from pliant.diagnosis.evidence import gather
from pliant.diagnosis.failed_draws import can_compare, check_failed_draws, check_unusable
from pliant.diagnosis.fit import check_fit
from pliant.diagnosis.learning import check_learning
from pliant.diagnosis.misfit import check_misfit
from pliant.diagnosis.observations import check_observations
from pliant.diagnosis.predictive import Statistic, check_predictive
from pliant.diagnosis.reruns import rerun_calibration
from pliant.problem.problem import Problem
from pliant.run.folder import rerun_folder
from pliant.run.result import Result

logger = logging.getLogger("pliant")


def diagnose(
    result: Result,
    problem: Problem,
    *,
    seed: int = 0,
    statistics: Mapping[str, Statistic] | None = None,
    reruns: int = 0,
    workers: int = 1,
    folder: str | Path | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Diagnosis:
    """Whether a posterior can be trusted, and which observations the model does not explain.

    Checks whether the run arrived, whether the posterior fits its target and misses no mode, how
    well the likelihood is known, whether the observed set and each single observation are ones
    that the posterior could have produced, whether posteriors of simulated sets are calibrated,
    what the data determine, and whether the simulator works there. A check that does not apply
    to a method says so. Simulates 100 to 200 sets of N.

    Args:
        result: What ``infer`` or ``load`` returned.
        problem: The problem of the run.
        seed: Of the draws and simulations.
        statistics: Your own statistics, by name: functions of one set, in the structure of the
            observations, that return a number or as many numbers for every set.
        reruns: How many simulated sets the whole method is run on, to see whether it is
            calibrated: the only way where no likelihood was learned. 100 is a good number.
        workers: Processes that make these runs.
        folder: Of the run: they are kept in it, so that another call with the same seed continues.
        progress: Called with a few words before each step; None logs them.

    Returns:
        The verdict and the findings; ``print`` shows them.

    Raises:
        TypeError, ValueError: If the problem is not that of the result, or a statistic fails.
    """
    _check(result, problem, seed, statistics, reruns, workers)
    advance = logger.info if progress is None else progress
    arrival = check_arrival(result)
    if result.posterior.is_prior:
        return Diagnosis(tuple(arrival))
    keys = jax.random.split(jax.random.key(seed), 3)
    evidence = gather(keys[0], problem, result.posterior, result.likelihood, advance)
    if not can_compare(evidence):
        return Diagnosis((*arrival, *check_unusable(evidence)), evidence=evidence)
    advance("comparing posterior and target")
    fit = check_fit(evidence)
    advance("searching for other modes")
    fit += check_elsewhere(keys[1], evidence)
    advance("looking at the data")
    learning = check_learning(result, evidence)
    misfit = check_misfit(evidence)
    observations, single = check_observations(evidence)
    predictive, features = check_predictive(evidence, statistics or {})
    advance("looking at ranks")
    calibration = likelihood_calibration(evidence, evidence.theta, evidence.names)
    moved = coordinate_calibration(evidence)
    learned = result.likelihood is not None
    ranks = check_calibration(calibration, learned=learned, reruns=reruns > 0)
    if reruns:
        place = None if folder is None else rerun_folder(check_path("folder", folder), seed)
        options = {"reruns": reruns, "workers": workers, "folder": place, "advance": advance}
        calibration, failed = rerun_calibration(evidence, result.method, **options)
        ranks += check_reruns(calibration, failed)
    prior = check_determination(keys[2], evidence)
    simulator = check_failed_draws(evidence)
    data = [*misfit, *single, *features]
    findings = [*arrival, *fit, *learning, *data, *ranks, *prior, *simulator]
    return Diagnosis(tuple(findings), observations, calibration, predictive, evidence, moved)


def check_pair(result: Any, problem: Any) -> None:
    """Raise a ``TypeError`` or a ``ValueError`` if this is not a result with its problem."""
    check_instance("result", result, Result, "pliant.infer(problem)")
    check_instance("problem", problem, Problem, "pliant.Problem(prior, simulator, observed)")
    if result.observed_shape != problem.observed.shape:
        raise ValueError(
            f"problem: expected observations of the shape {result.observed_shape}, as the run had, "
            f"got {problem.observed.shape}."
        )
    if result.posterior.space.names != problem.prior.space.names:
        raise ValueError(
            f"problem: expected the parameters {result.posterior.space.names}, as the run had, got "
            f"{problem.prior.space.names}."
        )


def _check(
    result: Any, problem: Any, seed: Any, statistics: Any, reruns: Any, workers: Any
) -> None:
    check_pair(result, problem)
    check_seed("seed", seed)
    check_integer("reruns", reruns, at_least=0)
    check_integer("workers", workers, at_least=1)
    if statistics is not None and not (
        isinstance(statistics, Mapping) and all(map(callable, statistics.values()))
    ):
        raise TypeError(
            f"statistics: expected a dict of names to functions of one set, got {statistics!r}."
        )
