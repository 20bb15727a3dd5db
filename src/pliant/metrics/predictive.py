"""Posterior-predictive checks: does the posterior simulate data like the observed?"""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from pliant._checks import check_seed
from pliant.discrepancies.base import RoundOptions
from pliant.discrepancies.measured import (
    AbstractMeasuredDiscrepancy,
    MeasuredState,
    measure_parameters,
)
from pliant.problem.problem import Problem
from pliant.problem.scale import feature_divisors


def predictive_distance(
    problem: Problem,
    theta: PyTree,
    discrepancy: AbstractMeasuredDiscrepancy,
    *,
    n_draws: int | None = None,
    seed: int = 0,
) -> float:
    r"""The paper's :math:`\mathbb{E}_{q(\theta)}[D(x^\star_{1:N}, x_{1:M})]` over given draws.

    Every draw simulates a set of its own, which is compared with the observed set in the
    features' scale that the problem asks for.

    Args:
        problem: With the simulator and the observations.
        theta: Draws of a posterior in the prior's structure, with a leading axis.
        discrepancy: D.
        n_draws: M; as many as there are observations by default, or the fewest that D can use.
        seed: Of the simulations. Draws at the same place share their random numbers, so that
            posteriors which are compared with one seed differ by less noise.

    Returns:
        The mean over the draws; infinite if one of them has no usable simulations.
    """
    key = jax.random.key(check_seed("seed", seed))
    scale_key, sim_key = jax.random.split(key)
    scale, _ = feature_divisors(scale_key, problem)
    if scale is not None:
        discrepancy = discrepancy.with_scale(scale)
    z = jax.vmap(problem.prior.space.unconstrain)(jax.tree.map(jnp.asarray, theta))
    state = MeasuredState(discrepancy, discrepancy.prepare(problem.observed))
    if n_draws is None:
        n_draws = max(problem.n_obs, discrepancy.min_draws)
    options = RoundOptions(n_draws)
    measurement = measure_parameters(sim_key, problem, state, z, options, with_noise=False)
    return float(measurement.distance.mean())
