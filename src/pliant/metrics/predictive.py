"""Posterior predictive checks: do simulations from the posterior resemble the data?"""

import warnings

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
from pliant.problem.points import observed_points, with_extras
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

    Each draw simulates its own set, which is compared with the observed set in the problem's
    scale of the features. Sets are simulated in chunks that bound the memory.

    Args:
        problem: The simulator and the observations.
        theta: Posterior draws in the prior's structure, with a leading axis.
        discrepancy: The discrepancy D.
        n_draws: M; by default N, or the smallest number of draws that D accepts if that is larger.
        seed: The seed of the simulations. The i-th draws of two posteriors share their random
            numbers, which reduces the noise of a comparison with one seed.

    Returns:
        The mean over the draws; infinite if a draw has no usable simulations.
    """
    key = jax.random.key(check_seed("seed", seed))
    scale_key, sim_key = jax.random.split(key)
    scale, _ = feature_divisors(scale_key, problem)
    if scale is not None:
        discrepancy = discrepancy.with_scale(with_extras(problem, scale))
    z = jax.vmap(problem.prior.space.unconstrain)(jax.tree.map(jnp.asarray, theta))
    state = MeasuredState(discrepancy, discrepancy.prepare(observed_points(problem)))
    if n_draws is None:
        n_draws = max(problem.n_obs, discrepancy.min_draws)
    options = RoundOptions(n_draws)
    measurement = measure_parameters(sim_key, problem, state, z, options, with_noise=False)
    if unconverged := measurement.row.get("unconverged"):
        warnings.warn(
            f"{unconverged} of {len(z)} transport plans did not converge, so the predictive "
            "distance is approximate. Use pliant.Wasserstein with more max_iterations or a larger "
            "regularisation.",
            stacklevel=2,
        )
    return float(measurement.distance.mean())
