"""All metrics of a posterior, each with its noise floor."""

import logging
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from pliant._checks import check_integer, check_seed
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.wasserstein import Wasserstein
from pliant.metrics.c2st import c2st
from pliant.metrics.mmd import squared_mmd
from pliant.metrics.predictive import predictive_distance
from pliant.metrics.rollouts import rollout_error
from pliant.metrics.wasserstein import REGULARISATION, squared_wasserstein
from pliant.problem.problem import Problem
from pliant.problem.samples import as_table, thinned
from pliant.run.posterior import Posterior
from pliant.tasks.base import AbstractTask, exact_samples
from pliant.tasks.furuta import FurutaTask

logger = logging.getLogger("pliant")

_C2ST_POINTS = 2000  # per sample; with 10,000, a network trains for many minutes
_DRAWS = 1000  # for predictive checks and rollouts, as in the paper
_SIMULATIONS = 100_000  # per check at most, for simulators that are not compiled
_TRANSPORTED = 60_000_000  # simulated numbers per Wasserstein check at most
_MAX_ITERATIONS = 50_000  # per transport plan; 1000 motions of the pendulum take over 10,000


class Metric(NamedTuple):
    """A score of a posterior."""

    name: str
    value: float
    floor: float | None
    """The score of an exact posterior with equally many samples; None if it is not known."""


def evaluate(
    posterior: Posterior,
    problem: Problem,
    *,
    task: AbstractTask | None = None,
    n_samples: int = 10_000,
    seed: int = 0,
    classify: bool = True,
) -> list[Metric]:
    """Score a posterior against everything that is known about its problem.

    The logger "pliant" is told what is being measured, at the level INFO.

    * With an exact posterior: squared MMD and Wasserstein distance to it from ``n_samples`` of
      each, in the user's units, and C2ST from 2000 of each. The floor is the score of a second
      exact sample.
    * With a truth: its log density, which has no floor; and, for the pendulum, the error of
      rollouts with synchronised initial states, whose floor is zero.
    * Always: predictive squared MMD and Wasserstein distance of 1000 posterior draws (or all
      ``n_samples`` if they are fewer). The floor is the score of exact draws, or of the truth if
      there are none, with the same random numbers. Two limits reduce the number of draws: 100,000
      simulations, for a simulator that is not a JAX function; and 60 million simulated numbers,
      for the Wasserstein distance alone, which leave 100 draws of the pendulum with 1000
      observations and 1000 draws of all other tasks and sizes of the paper.

    Args:
        posterior: The posterior to score.
        problem: Its problem.
        task: The task that the problem came from, if any.
        n_samples: The number of samples of the posterior and of the exact one.
        seed: The seed of the samples, simulations and classifiers.
        classify: Whether to compute C2ST, which takes longer than all other metrics together.

    Raises:
        ImportError: If a metric needs ``pliant[bench]``, which is not installed.
    """
    n, seed = check_integer("n_samples", n_samples, at_least=10), check_seed("seed", seed)
    theta = posterior.sample(n, seed=seed)
    exact = other = truth = None
    rows: list[Metric] = []
    if task is not None:
        truth = task.truth
        if task.has_reference:
            logger.info("drawing samples of the exact posterior")
            exact, other = _exact_pair(task, problem, n, seed)
            names = posterior.space.names
            tables = (as_table(samples, names)[1] for samples in (theta, other, exact))
            rows += _parameter_rows(*tables, seed=seed, classify=classify)
        rows.append(Metric("log density of truth", float(posterior.log_prob(truth)), None))
    draws = min(n, _DRAWS)
    if not problem.simulator.compiled:
        draws = min(draws, max(1, _SIMULATIONS // problem.n_obs))
    rows += _predictive_rows(
        problem,
        _first(theta, draws),
        _repeat(truth, draws) if exact is None else _first(exact, draws),
        seed=seed,
    )
    if isinstance(task, FurutaTask):
        logger.info("measuring rollout error")
        error = rollout_error(task, _first(theta, _DRAWS), seed=seed)
        rows.append(Metric("rollout error", error, 0.0))
    return rows


def _exact_pair(task: AbstractTask, problem: Problem, n: int, seed: int) -> tuple[Any, Any]:
    observed = problem.layout.split(problem.observed, lead=1)
    conditions = None if problem.conditions is None else problem.conditions.values
    both = exact_samples(task, observed, conditions, seed=seed, n=2 * n)
    return _first(both, n), jax.tree.map(lambda leaf: leaf[n:], both)


def _parameter_rows(
    ours: Float[np.ndarray, "n d"],
    other: Float[np.ndarray, "n d"],
    exact: Float[np.ndarray, "n d"],
    *,
    seed: int,
    classify: bool,
) -> list[Metric]:
    distances = {"MMD^2": squared_mmd, "Wasserstein^2": squared_wasserstein}
    rows = []
    for name, distance in distances.items():
        logger.info("measuring %s", name)
        rows.append(Metric(name, distance(ours, exact), distance(other, exact)))
    if classify:
        logger.info("measuring C2ST")
        few = [thinned(sample, _C2ST_POINTS) for sample in (ours, other, exact)]
        floor = c2st(few[2], few[1], seed=seed)
        rows.append(Metric("C2ST", c2st(few[2], few[0], seed=seed), floor))
    return rows


def _predictive_rows(
    problem: Problem, theta: PyTree, ideal: PyTree | None, *, seed: int
) -> list[Metric]:
    wasserstein = Wasserstein(regularisation=REGULARISATION, max_iterations=_MAX_ITERATIONS)
    few = max(1, _TRANSPORTED // (problem.n_obs * max(1, math.prod(problem.event_shape))))
    mmd = MMD(lengthscales=PAPER_LENGTHSCALES)
    checks = {"predictive MMD^2": (mmd, _DRAWS), "predictive Wasserstein^2": (wasserstein, few)}
    rows = []
    for name, (discrepancy, draws) in checks.items():
        logger.info("measuring %s", name)
        value, *floor = (
            predictive_distance(problem, _first(sample, draws), discrepancy, seed=seed)
            for sample in (theta, ideal)
            if sample is not None
        )
        rows.append(Metric(name, value, floor[0] if floor else None))
    return rows


def _first(theta: PyTree, n: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[:n], theta)


def _repeat(theta: PyTree | None, n: int) -> PyTree | None:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n, *jnp.shape(leaf))), theta)
