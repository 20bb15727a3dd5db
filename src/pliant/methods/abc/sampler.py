"""What the samplers of approximate Bayesian computation share: options, and the first draws."""

import abc
import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer
from pliant.densities.base import AbstractDensity
from pliant.densities.particles import ParticleDensity
from pliant.discrepancies.base import RoundOptions
from pliant.discrepancies.measured import (
    AbstractMeasuredDiscrepancy,
    MeasuredState,
    Measurement,
    measure_parameters,
)
from pliant.methods.abc.population import Population
from pliant.methods.base import FEWEST_PARTICLES, AbstractMethod, Rows, Stop
from pliant.methods.status import Status
from pliant.problem.problem import Problem

# A bandwidth has stopped falling if over the last quarter of the rounds it fell by no more than
# a tenth of what is left below it. One round would not do: now and then hardly any proposal comes
# within the bandwidth, and it stands still. What is left is counted from the closest particle, as
# an unbiased MMD has no zero to count from: its bandwidths can be negative.
_LAST = 4
_STILL = 0.1


class ABCState(eqx.Module):
    """What a run of an ABC sampler knows after a round."""

    population: Any
    """What the sampler holds, with a method ``density``; None before the first round."""
    measured: MeasuredState
    """What compares sets with the observed one."""
    proposals: tuple[AbstractDensity, ...] = ()
    """What each round after the first drew from, for samplers whose weights need it."""


class AbstractABC(AbstractMethod):
    """A sampler whose posterior is a set of weighted particles.

    ABC with a kernel k aims at ``p(theta) E[k(D(observed, x), h) | theta]``. As h falls to zero
    this is the exact posterior only if the sets x are as large as the observed one: larger
    sets act like more observations, and smaller ones like fewer. So M is N by default.
    """

    n_particles: eqx.AbstractVar[int]
    n_draws: eqx.AbstractVar[int | None]
    discrepancy: eqx.AbstractVar[AbstractMeasuredDiscrepancy]
    chunk_size: eqx.AbstractVar[int | None]

    def __check_init__(self):
        check_integer("rounds", self.rounds, at_least=1)
        check_integer("n_particles", self.n_particles, at_least=FEWEST_PARTICLES)
        if self.n_draws is not None:
            check_integer("n_draws", self.n_draws, at_least=1)
        check_instance("discrepancy", self.discrepancy, AbstractMeasuredDiscrepancy, "pliant.MMD()")
        if self.chunk_size is not None:
            check_integer("chunk_size", self.chunk_size, at_least=1)
        if self.n_kept < FEWEST_PARTICLES:  # the share itself is checked by now
            raise ValueError(
                f"n_particles: {self.n_kept} particles would be kept, and {FEWEST_PARTICLES} "
                "are needed. Raise it, or the share that is kept (quantile or alpha)."
            )

    @property
    @abc.abstractmethod
    def n_kept(self) -> int:
        """How many particles a posterior has, those without weight included."""

    @property
    @abc.abstractmethod
    def sets_per_round(self) -> int:
        """How many sets of M draws a round simulates, at most."""

    def resolved(self, problem: Problem) -> "AbstractABC":
        """The same options, with the number of draws filled in."""
        return dataclasses.replace(self, n_draws=self.draws(problem))

    def simulations_per_round(self, problem: Problem) -> int:
        """Sets times M."""
        return self.sets_per_round * self.draws(problem)

    def check_memory(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if a set and its comparison cannot fit into memory."""
        sizes = self.n_particles, self.draws(problem)
        self.discrepancy.check_memory(problem, *sizes, self.chunk_size)

    def init(self, key: Key[Array, ""], problem: Problem) -> tuple[ABCState, int]:
        """Fix the features' scales and prepare what depends on the observations alone."""
        measured, simulations = self.discrepancy.init(key, problem, self.draws(problem))
        return ABCState(None, measured), simulations

    def posterior(self, state: ABCState) -> ParticleDensity | None:
        """The particles after the last round."""
        return None if state.population is None else state.population.density()

    def draws(self, problem: Problem) -> int:
        """M, the draws in a simulated set."""
        return problem.n_obs if self.n_draws is None else self.n_draws

    def measure(
        self, key: Key[Array, ""], problem: Problem, state: ABCState, z: Float[Array, "K dim"]
    ) -> Measurement:
        """Simulate a set with each parameter and compare it with the observed one."""
        options = RoundOptions(self.draws(problem), self.chunk_size)
        return measure_parameters(key, problem, state.measured, z, options)

    def prior_population(
        self, key: Key[Array, ""], problem: Problem, state: ABCState
    ) -> tuple[Population, Measurement]:
        """``n_particles`` draws from the prior, of equal weight where a distance is known."""
        sample_key, measure_key = jax.random.split(key)
        z = problem.prior.sample(sample_key, self.n_particles)
        measurement = self.measure(measure_key, problem, state, z)
        population = Population(
            z=np.asarray(z, np.float64),
            log_prior=log_prior(problem, z),
            distance=measurement.distance,
            log_weights=np.where(np.isfinite(measurement.distance), 0.0, -np.inf),
            bandwidth=np.inf,
        )
        return population, measurement


def log_prior(problem: Problem, z: Float[Array, "K dim"]) -> Float[np.ndarray, " K"]:
    """The prior's log densities in z, in double precision."""
    return np.asarray(problem.prior.log_prob(jnp.asarray(z, float)), np.float64)


def log_uniform(key: Key[Array, ""], n: int) -> Float[np.ndarray, " n"]:
    """Logarithms of ``n`` uniform draws, all finite and below zero."""
    tiny = np.finfo(np.float32).tiny
    return np.asarray(jnp.log(jax.random.uniform(key, (n,), minval=tiny)), np.float64)


def population_row(population: Population, acceptance: float) -> dict[str, float | int]:
    """The columns of a round's row that the population fills."""
    return {
        "bandwidth": population.bandwidth,
        "acceptance": acceptance,
        "ess": population.ess,
        "unique": population.unique,
    }


def tolerance_reached(bandwidth: float) -> Stop:
    """The end of a run that came down to its tolerance."""
    message = f"The bandwidth has reached the tolerance, {bandwidth:.3g}."
    return Stop(Status.REACHED_TOLERANCE, message)


def sequence_shortfall(
    rows: Rows, population: Population | None, tolerance: float | None, *, lowest: float | None
) -> str:
    """What is left to do for a sampler that lowers its bandwidth; empty if nothing is.

    Args:
        rows: The rows of the history.
        population: That of the last round.
        tolerance: The bandwidth at which the run should end; None for none.
        lowest: The lowest bandwidth that the kernel can have; None for the closest particle's.
    """
    if population is None:
        return ""
    now, remedy = population.bandwidth, "Use more rounds or a larger budget"
    if tolerance is not None:
        if now <= tolerance:
            return ""
        return (
            f"The bandwidth is {now:.3g} and should be tolerance={tolerance:g}: the posterior is "
            f"too wide. {remedy}."
        )
    if len(rows) == 1:
        return f"One round is only a first guess: the posterior is too wide. {remedy}."
    n_last = min(max(len(rows) // _LAST, 3), len(rows) - 1)
    before = rows[-1 - n_last]["bandwidth"]
    closest = float(population.distance[population.alive].min()) if lowest is None else lowest
    if before - now <= _STILL * (now - closest):
        return ""
    return (
        f"The bandwidth was still falling, in the last {n_last} rounds from {before:.4g} to "
        f"{now:.4g}: the posterior is wider than it should be, by an unknown factor. {remedy}, or "
        "give a tolerance."
    )


def too_few_accepted(acceptance: float, least: float, remedy: str) -> Stop:
    """The end of a run that rejects nearly all of its simulations."""
    return Stop(
        Status.LOW_ACCEPTANCE,
        f"{acceptance:.2%} of the proposals were accepted, below {least:.2%}: a smaller bandwidth "
        f"costs more simulations than it is worth. The posterior of this round is kept. {remedy}",
    )
