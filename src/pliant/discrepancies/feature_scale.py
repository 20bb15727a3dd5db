"""Divisors that bring the features of an observation to the scale at which sets are compared."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.discrepancies.scaling import pilot_scale, with_scale
from pliant.problem.problem import Problem
from pliant.problem.space import constrain_all

_PILOT = (256, 4)  # parameters and draws of the pilot
_ENOUGH = 10  # observations whose own spread is trusted
_SPREADS = 3.0  # the default kernels and bandwidth were set where observations have a third


def feature_scale(
    key: Key[Array, ""], problem: Problem
) -> tuple[Float[np.ndarray, " d"] | None, int]:
    """The divisors that ``problem.scale`` asks for, and the simulator calls that they cost.

    "auto" takes three times the spread of each feature over the observations, and a pilot's
    spread where there are fewer than ten of them or where a feature does not vary.
    """
    if problem.scale is None:
        return None, 0
    if not isinstance(problem.scale, str):
        return np.asarray(problem.scale), 0
    rows = np.asarray(problem.observed).reshape(problem.n_obs, -1)
    varies = np.ptp(rows, axis=0) > 0
    if problem.scale == "auto" and problem.n_obs >= _ENOUGH:
        everything = jnp.ones((1, problem.n_obs), bool)
        own = _SPREADS * np.asarray(pilot_scale(problem.observed[None], everything))
        if np.all(varies):
            return own, 0
        pilot, calls = _pilot_spread(key, problem)
        return np.where(varies, own, pilot), calls
    return _pilot_spread(key, problem)


def pilot_simulations(problem: Problem) -> int:
    """The simulator calls that ``feature_scale`` will make."""
    if not isinstance(problem.scale, str):
        return 0
    rows = np.asarray(problem.observed).reshape(problem.n_obs, -1)
    own = problem.scale == "auto" and problem.n_obs >= _ENOUGH and np.all(np.ptp(rows, axis=0) > 0)
    return 0 if own else math.prod(_PILOT)


def with_feature_scale(
    key: Key[Array, ""], problem: Problem, discrepancy: AbstractDiscrepancy
) -> tuple[AbstractDiscrepancy, int]:
    """The discrepancy with the problem's scale, and the simulator calls that it took.

    A scale of its own is kept.
    """
    if discrepancy.scale is not None:
        return discrepancy, 0
    scale, simulations = feature_scale(key, problem)
    return (discrepancy if scale is None else with_scale(discrepancy, scale)), simulations


def _pilot_spread(key: Key[Array, ""], problem: Problem) -> tuple[Float[np.ndarray, " d"], int]:
    """The spread of each feature over simulations from the prior."""
    n_particles, n_draws = _PILOT
    prior_key, sim_key = jax.random.split(key)
    thetas = constrain_all(problem.prior.space, problem.prior.sample(prior_key, n_particles))
    x, ok = problem.simulator.simulate(jax.random.split(sim_key, n_particles), thetas, n_draws)
    return np.asarray(pilot_scale(x, ok)), n_particles * n_draws
