"""The partition function Z(theta) of the pseudo-likelihood, by the Monte Carlo of appendix A.4."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import logsumexp

from pliant._checks import check_integer
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, MeasuredState
from pliant.problem.problem import Problem
from pliant.problem.space import constrain_all
from pliant.weighting.kernels import AbstractKernel

_PILOT = 100  # prior simulations whose mean is the centre of the box (the paper: 100)
_HALF_WIDTH = 5.0  # of the box, in square roots of beta (the paper: 5)


class PartitionFunction(eqx.Module):
    """How Z(theta), the integral of the kernel over all observed sets, is estimated.

    Reference sets of N points are drawn uniformly from a box of +- 5 sqrt(beta) around the
    mean of 100 prior simulations; ``Z(theta) = V mean_i k(D(set_i, x), beta)``, where
    the volume V does not depend on theta and is left out. The cost of a round's distances
    grows by the factor ``n_sets + 1``.

    Args:
        n_sets: How many reference sets are drawn (the paper: 10,000, for 100 parameters).
    """

    n_sets: int = eqx.field(static=True, default=100)

    def __check_init__(self):
        check_integer("n_sets", self.n_sets, at_least=1)

    def prepare(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: Any,
        kernel: AbstractKernel,
        beta: float,
    ) -> "PreparedPartition":
        """Draw the reference sets and compute what the discrepancy needs of them.

        Args:
            key: For the pilot and the sets.
            problem: With prior, simulator and observations.
            state: The discrepancy's, before the first round.
            kernel: What turns distances into pseudo-likelihoods.
            beta: The target bandwidth.

        Raises:
            ValueError: If the discrepancy does not compare sets.
        """
        if not isinstance(state, MeasuredState):
            raise ValueError(
                "partition: a learned likelihood is normalised; leave the partition function out."
            )
        discrepancy = state.discrepancy
        prior_key, sim_key, set_key = jax.random.split(key, 3)
        z = problem.prior.sample(prior_key, _PILOT)
        thetas = constrain_all(problem.prior.space, z)
        x, ok = problem.simulator.simulate(jax.random.split(sim_key, _PILOT), thetas, 1)
        usable = np.asarray(x)[np.asarray(ok)]
        centre = jnp.asarray(usable.mean(axis=0) if len(usable) else np.zeros(x.shape[2:]), float)
        shape = (self.n_sets, *problem.observed.shape)
        half_width = _HALF_WIDTH * np.sqrt(beta)
        box = jax.random.uniform(set_key, shape, minval=-half_width, maxval=half_width)
        sets = jnp.expand_dims(centre, (0, 1)) + box
        states = [discrepancy.prepare(reference) for reference in sets]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        return PreparedPartition(discrepancy=discrepancy, states=stacked, kernel=kernel, beta=beta)


class PreparedPartition(eqx.Module):
    """Reference sets, ready to be compared with simulated sets."""

    discrepancy: AbstractMeasuredDiscrepancy
    states: Any
    """What the discrepancy prepared of all sets, stacked on a leading axis."""
    kernel: AbstractKernel
    beta: float

    def log_values(
        self, x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]
    ) -> Float[np.ndarray, " K"]:
        """Log Z(theta) of ``K`` simulated sets, up to the constant log V."""
        distances = np.asarray(self._distances(x, ok), np.float64)
        log_kernel = self.kernel.log_value(distances, self.beta)
        return logsumexp(log_kernel, axis=0) - np.log(len(distances))

    @eqx.filter_jit
    def _distances(
        self, x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]
    ) -> Float[Array, "sets K"]:
        return jax.lax.map(lambda state: self.discrepancy.measure(state, x, ok)[0], self.states)
