"""MH-ABC: the SMC sequence with Metropolis-Hastings moves that simulate until they hit."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from pliant._checks import check_integer
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, Measurement
from pliant.discrepancies.mmd import MMD
from pliant.methods.abc.population import Population, perturbed
from pliant.methods.abc.sampler import ABCState, log_prior, log_uniform
from pliant.methods.abc.sequence import AbstractSMC, Moved
from pliant.problem.problem import Problem
from pliant.weighting.kernels import UniformKernel


class MHABC(AbstractSMC):
    """SMC-ABC with the r-hit kernel of Lee (2012), as Bernton et al. (2019) use it.

    A move from theta proposes theta' by a random walk with twice the particles' covariance. It
    simulates at theta until ``hits - 1`` sets lie within the bandwidth, after n tries, and at
    theta' until ``hits`` do, after n' tries; and accepts with the probability
    ``min(1, p(theta') n / (p(theta) (n' - 1)))``. So particles move at small bandwidths too,
    where one try would hardly ever hit; the price is the number of tries.

    A particle that needs more than ``max_tries`` at theta, or one more than that at theta', stays
    where it is. With the same limit on both sides the move still leaves its target as it is.

    Args:
        rounds: The most rounds T.
        n_particles: The number of particles K.
        n_draws: Draws for each try, the paper's M; None for N.
        discrepancy: The distance D between sets.
        hits: How often a proposal must hit, r; at least 2.
        max_tries: The limit of a particle's tries.
        alpha: The share of the effective sample size that a new bandwidth keeps.
        resample_below: The share of K below which the effective sample size is restored by
            resampling; from 1 on, in every round.
        tolerance: The bandwidth at which the run ends; None for none.
        min_acceptance: The run ends when fewer of the moves are accepted.
        chunk_size: Parameters that are simulated at a time; None to bound the memory. It
            does not change the result.
    """

    rounds: int = eqx.field(static=True, default=200)
    n_particles: int = eqx.field(static=True, default=1000)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractMeasuredDiscrepancy = MMD(lengthscales=PAPER_LENGTHSCALES)
    hits: int = eqx.field(static=True, default=2)
    max_tries: int = eqx.field(static=True, default=100)
    alpha: float = eqx.field(static=True, default=0.9)
    resample_below: float = eqx.field(static=True, default=0.5)
    tolerance: float | None = eqx.field(static=True, default=None)
    min_acceptance: float = eqx.field(static=True, default=0.015)
    chunk_size: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_integer("hits", self.hits, at_least=2)
        check_integer("max_tries", self.max_tries, at_least=self.hits)

    @property
    def weight_kernel(self) -> UniformKernel:
        """A hit is a set within the bandwidth."""
        return UniformKernel()

    @property
    def sets_per_round(self) -> int:
        """One pass of K sets for every try: rounds of few misses make far fewer."""
        return self.n_particles * (2 * self.max_tries + 1)

    def move(
        self, key: Key[Array, ""], problem: Problem, state: ABCState, population: Population
    ) -> Moved:
        """One r-hit step of every particle; the dead stay where they are.

        With u uniform, ``n' - 1 < p' n / (p u)`` accepts: so once n and u are known, so is the
        number of tries after which a proposal is rejected for sure, and none is made beyond it.
        """
        walk_key, here_key, there_key, accept_key = jax.random.split(key, 4)
        z, h = perturbed(walk_key, population), population.bandwidth
        proposed = log_prior(problem, z)
        z_here = jnp.asarray(population.z, float)
        limit = np.where(population.alive, self.max_tries, 0)
        here = self.try_until(here_key, problem, state, z_here, h, hits=self.hits - 1, limit=limit)
        hit_here = here.found == self.hits - 1
        log_u = log_uniform(accept_key, len(z))
        with np.errstate(over="ignore", invalid="ignore"):  # the dead make no tries
            most = np.ceil(np.exp(proposed - population.log_prior - log_u) * here.tries)
        limit = np.where(hit_here & (most >= self.hits), np.minimum(most, self.max_tries + 1), 0)
        there = self.try_until(
            there_key, problem, state, z, h, hits=self.hits, limit=limit.astype(int)
        )
        accept = there.found == self.hits
        stays = np.where(hit_here, here.distance, population.distance)
        capped = population.alive & ~hit_here | ~accept & (there.tries > self.max_tries)
        population = dataclasses.replace(
            population,
            z=np.where(accept[:, None], np.asarray(z, np.float64), population.z),
            log_prior=np.where(accept, proposed, population.log_prior),
            distance=np.where(accept, there.distance, stays),
        )
        n_sets = self.n_particles * len(here.passes + there.passes)
        return Moved(
            population=population,
            acceptance=float(accept.sum() / population.alive.sum()),
            measurement=here.passes[0],
            simulations=n_sets * self.draws(problem),
            row={"capped": int(capped.sum()), "tries": int(here.tries.sum() + there.tries.sum())},
        )

    def remedy(self, row: dict[str, float | int]) -> str:
        """More tries."""
        return (
            f"{row['capped']} of {self.n_particles} particles ran out of tries: to continue, raise "
            f"max_tries={self.max_tries}."
        )

    def try_until(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: ABCState,
        z: Float[Array, "K dim"],
        bandwidth: float,
        *,
        hits: int,
        limit: Int[np.ndarray, " K"],
    ) -> "Tries":
        """Simulate sets with each parameter until some lie within the bandwidth.

        A pass makes K tries and shares them out among the parameters that are not done. Its
        shape is always the same, and each of these gets at least one try: there are no more
        passes than the largest limit. Tries of a pass that come after a parameter is done
        are not counted as its tries, though they are simulated.

        Args:
            key: For the simulations.
            problem: The problem.
            state: With the discrepancy.
            z: The parameters.
            bandwidth: The largest distance of a hit.
            hits: How many hits are wanted.
            limit: The most tries of each parameter.
        """
        n = len(z)
        tries, found = np.zeros(n, int), np.zeros(n, int)
        distance = np.full(n, np.inf)
        passes: list[Measurement] = []
        while (open_ := np.flatnonzero((found < hits) & (tries < limit))).size:
            slots = np.resize(open_, n)
            pass_key = jax.random.fold_in(key, len(passes))
            measurement = self.measure(pass_key, problem, state, z[slots])
            passes.append(measurement)
            table = np.full(-(-n // open_.size) * open_.size, np.nan)
            table[:n] = measurement.distance
            made, hit, last = count_tries(
                table.reshape(-1, open_.size),
                bandwidth,
                wanted=hits - found[open_],
                allowed=limit[open_] - tries[open_],
            )
            tries[open_] += made
            found[open_] += hit
            distance[open_] = np.where(hit > 0, last, distance[open_])
        return Tries(tries, found, distance, passes)


class Tries(NamedTuple):
    """What came of the tries at K parameters."""

    tries: Int[np.ndarray, " K"]
    """Tries up to the last hit that was wanted, or to the limit."""
    found: Int[np.ndarray, " K"]
    """Hits."""
    distance: Float[np.ndarray, " K"]
    """Of the last hit; infinite if there is none."""
    passes: list[Measurement]
    """Of K sets each."""


def count_tries(
    distance: Float[np.ndarray, "depth n"],
    bandwidth: float,
    *,
    wanted: Int[np.ndarray, " n"],
    allowed: Int[np.ndarray, " n"],
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Tries and hits of n parameters until each has what is wanted, and the last hit's distance.

    Args:
        distance: Tries in their order down each column; NaN where none was made.
        bandwidth: The largest distance of a hit.
        wanted: After so many hits a column ends.
        allowed: After so many tries too.
    """
    hit = distance <= bandwidth
    before = np.cumsum(hit, axis=0) - hit
    number = np.arange(len(distance))[:, None]
    made = ~np.isnan(distance) & (before < wanted) & (number < allowed)
    hit &= made
    last = len(hit) - 1 - np.argmax(hit[::-1], axis=0)
    return made.sum(axis=0), hit.sum(axis=0), distance[last, np.arange(distance.shape[1])]
