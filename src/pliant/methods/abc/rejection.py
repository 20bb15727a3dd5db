"""Rejection ABC: draws from the prior, kept if what they simulate comes close."""

import dataclasses
import math

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_real
from pliant.densities.particles import ParticleDensity, particle_density
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.mmd import MMD
from pliant.methods.abc.sampler import ABCState, AbstractABC, log_uniform
from pliant.methods.base import FEWEST_PARTICLES, Outcome, Rows, Stop
from pliant.methods.status import Status
from pliant.problem.problem import Problem
from pliant.problem.sets import check_particles
from pliant.weighting.kernels import AbstractKernel, UniformKernel

# The closest quarter of the accepted draws may be narrower than all of them by a twentieth, and
# by twice the standard error of such a ratio. Where the tolerance alone decides, a posterior of d
# parameters narrows by 0.25^(1/d): 0.5 for two, 0.87 for ten.
_CLOSEST = 4
_NARROWER = 0.95


class RejectionABC(AbstractABC):
    """Rejection ABC (Tavaré et al., 1997; Pritchard et al., 1999).

    Every round draws ``n_particles`` parameters from the prior. A draw with the distance D is
    accepted with the probability k(D, h). The bandwidth h is ``tolerance``, or as small as leaves
    the share ``quantile`` of all draws so far. No more than the draws that can still be
    among the accepted ones are kept in memory.

    Args:
        rounds: The number of rounds T.
        n_particles: Draws in a round.
        n_draws: Draws of the simulator for each parameter, the paper's M; None for N.
        discrepancy: The distance D between sets.
        kernel: What turns a distance into a probability of acceptance.
        quantile: The share of the draws that is accepted, unless ``tolerance`` is given.
        tolerance: The bandwidth h; None to set it by ``quantile``.
        chunk_size: Parameters that are simulated at a time; None to bound the memory. It
            does not change the result.
    """

    rounds: int = eqx.field(static=True, default=100)
    n_particles: int = eqx.field(static=True, default=1000)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractMeasuredDiscrepancy = MMD(lengthscales=PAPER_LENGTHSCALES)
    kernel: AbstractKernel = UniformKernel()
    quantile: float = eqx.field(static=True, default=0.01)
    tolerance: float | None = eqx.field(static=True, default=None)
    chunk_size: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_instance("kernel", self.kernel, AbstractKernel, "pliant.UniformKernel()")
        check_real("quantile", self.quantile, above=0, below=1)
        if self.tolerance is not None:
            check_real("tolerance", self.tolerance, above=0)

    @property
    def n_kept(self) -> int:
        """All draws, any of which may come within a tolerance, or their quantile."""
        share = self.quantile if self.tolerance is None else 1.0
        return math.ceil(share * self.rounds * self.n_particles)

    @property
    def sets_per_round(self) -> int:
        """``n_particles``."""
        return self.n_particles

    def check_memory(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if a round, or what all rounds keep, cannot fit into memory."""
        super().check_memory(problem)
        check_particles(problem, self.n_kept, limited="rounds", value=self.rounds)

    def step(self, key: Key[Array, ""], problem: Problem, state: ABCState) -> Outcome:
        """Draw, and merge with the best of the draws before."""
        sample_key, measure_key, kernel_key = jax.random.split(key, 3)
        z = problem.prior.sample(sample_key, self.n_particles)
        measurement = self.measure(measure_key, problem, state, z)
        log_u = log_uniform(kernel_key, self.n_particles)
        needed = self.kernel.least_bandwidth(measurement.distance, log_u)

        before = self._nothing(problem.prior.dim) if state.population is None else state.population
        best = _merged(before, np.asarray(z, np.float64), needed)
        n_drawn = before.n_drawn + self.n_particles
        accepted = Accepted(*best, n_drawn, self._bandwidth(best[1], n_drawn))
        row = {
            "bandwidth": accepted.bandwidth,
            "acceptance": accepted.count / n_drawn,
            "ess": float(accepted.count),
            "unique": accepted.count,
            **measurement.row,
        }
        state = dataclasses.replace(state, population=accepted)
        last = n_drawn == self.rounds * self.n_particles
        stop = self._nothing_close(accepted) if last and accepted.count == 0 else None
        return Outcome(state, row, self.simulations_per_round(problem), stop)

    def shortfall(self, problem: Problem, state: ABCState, rows: Rows) -> str:
        """Whether enough draws were accepted, and a smaller bandwidth would give the same."""
        accepted: Accepted | None = state.population
        if accepted is None or accepted.count == 0:
            return ""
        if accepted.count < FEWEST_PARTICLES:
            return (
                f"Only {accepted.count} of {accepted.n_drawn:,} draws were accepted, too few for a "
                "posterior. Use more rounds or a larger tolerance."
            )
        ratio, limit = accepted.narrowing()
        if self.tolerance is not None or ratio >= limit:
            return ""
        return (
            f"The closest quarter of the accepted draws is {ratio:.2g} times as wide as all of "
            "them: the posterior is wider than it should be, by an unknown factor. Use a smaller "
            "quantile with more rounds, or pliant.SMCABC()."
        )

    def _nothing(self, dim: int) -> "Accepted":
        n = self.n_kept
        return Accepted(np.zeros((n, dim)), np.full(n, np.inf), 0, 0.0)

    def _bandwidth(self, needed: Float[np.ndarray, " C"], n_drawn: int) -> float:
        if self.tolerance is not None:
            return self.tolerance
        return float(needed[math.ceil(self.quantile * n_drawn) - 1])

    def _nothing_close(self, accepted: "Accepted") -> Stop:
        closest = float(accepted.needed[0])
        if not np.isfinite(closest):
            return Stop(
                Status.FAILED,
                f"None of {accepted.n_drawn:,} draws gave enough usable simulations. Check where "
                "the simulator returns values that are not finite, and narrow the prior.",
            )
        return Stop(
            Status.FAILED,
            f"None of {accepted.n_drawn:,} draws came within tolerance={self.tolerance:g}: the "
            f"closest would need {closest:.3g}. Raise it, draw more, or set quantile instead.",
        )


class Accepted(eqx.Module):
    """The best draws so far, in the order of the bandwidths that they need to be accepted."""

    z: Float[np.ndarray, "C dim"]
    needed: Float[np.ndarray, " C"]
    """The smallest bandwidth at which a draw is accepted; infinite for a place still free."""
    n_drawn: int
    """Draws so far, those that were dropped included."""
    bandwidth: float

    @property
    def count(self) -> int:
        """How many draws are accepted."""
        return int(np.sum(self._accepted))

    @property
    def _accepted(self) -> np.ndarray:
        return np.isfinite(self.needed) & (self.needed <= self.bandwidth)

    def narrowing(self) -> tuple[float, float]:
        """How wide the closest quarter is, in widths of all, and how wide it should be at least.

        The ratio is the geometric mean over the parameters.
        """
        z, n = self.z[self._accepted], max(self.count // _CLOSEST, 2)
        ratio = np.exp(np.mean(np.log(z[:n].std(axis=0, ddof=1) / z.std(axis=0, ddof=1))))
        return float(ratio), _NARROWER - 2 / math.sqrt(2 * (n - 1) * z.shape[1])

    def density(self) -> ParticleDensity | None:
        """The accepted draws, of equal weight; None if there are none."""
        if self.count == 0:
            return None
        return particle_density(self.z, np.where(self._accepted, 0.0, -np.inf))


def _merged(
    before: Accepted, z: Float[np.ndarray, "K dim"], needed: Float[np.ndarray, " K"]
) -> tuple[Float[np.ndarray, "C dim"], Float[np.ndarray, " C"]]:
    """The C best of the draws before and the new ones: parameters, and bandwidths needed."""
    all_needed = np.concatenate([before.needed, needed])
    best = np.argsort(all_needed, kind="stable")[: len(before.needed)]
    return np.concatenate([before.z, z])[best], all_needed[best]
