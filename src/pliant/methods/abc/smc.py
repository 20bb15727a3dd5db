"""SMC-ABC, Algorithm 2 of the paper."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from pliant._checks import check_instance
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.mmd import MMD
from pliant.methods.abc.population import Population, perturbed
from pliant.methods.abc.sampler import ABCState, log_prior, log_uniform
from pliant.methods.abc.sequence import AbstractSMC, Moved
from pliant.problem.problem import Problem
from pliant.weighting.kernels import AbstractKernel, UniformKernel


class SMCABC(AbstractSMC):
    """The adaptive sequential Monte Carlo sampler of Del Moral, Doucet and Jasra (2012).

    Each round lowers the bandwidth as far as ``alpha`` of the effective sample size is kept,
    resamples if too little of it is left, and moves every particle by one Metropolis-Hastings
    step: a random walk with twice the particles' covariance, one simulated set, and the
    acceptance ratio ``p(theta') k(D', h) / (p(theta) k(D, h))``.

    Args:
        rounds: The most rounds T.
        n_particles: The number of particles K.
        n_draws: Draws for each particle, the paper's M; None for N.
        discrepancy: The distance D between sets.
        kernel: What turns a distance into a pseudo-likelihood.
        alpha: The share of the effective sample size that a new bandwidth keeps.
        resample_below: The share of K below which the effective sample size is restored by
            resampling, the paper's V; from 1 on, in every round.
        tolerance: The bandwidth at which the run ends; None for none.
        min_acceptance: The run ends when fewer of the moves are accepted.
        chunk_size: Parameters that are simulated at a time; None to bound the memory. It
            does not change the result.
    """

    rounds: int = eqx.field(static=True, default=200)
    n_particles: int = eqx.field(static=True, default=1000)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractMeasuredDiscrepancy = MMD(lengthscales=PAPER_LENGTHSCALES)
    kernel: AbstractKernel = UniformKernel()
    alpha: float = eqx.field(static=True, default=0.9)
    resample_below: float = eqx.field(static=True, default=0.5)
    tolerance: float | None = eqx.field(static=True, default=None)
    min_acceptance: float = eqx.field(static=True, default=0.015)
    chunk_size: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_instance("kernel", self.kernel, AbstractKernel, "pliant.UniformKernel()")

    @property
    def weight_kernel(self) -> AbstractKernel:
        """The option ``kernel``."""
        return self.kernel

    @property
    def sets_per_round(self) -> int:
        """``n_particles``."""
        return self.n_particles

    def move(
        self, key: Key[Array, ""], problem: Problem, state: ABCState, population: Population
    ) -> Moved:
        """One Metropolis-Hastings step of every particle; the dead stay where they are."""
        walk_key, measure_key, accept_key = jax.random.split(key, 3)
        z = perturbed(walk_key, population)
        measurement = self.measure(measure_key, problem, state, z)
        proposed = log_prior(problem, z)
        h = population.bandwidth
        before = population.log_prior + self.kernel.log_value(population.distance, h)
        after = proposed + self.kernel.log_value(measurement.distance, h)
        accept = population.alive & (log_uniform(accept_key, len(z)) + before < after)
        population = dataclasses.replace(
            population,
            z=np.where(accept[:, None], np.asarray(z, np.float64), population.z),
            log_prior=np.where(accept, proposed, population.log_prior),
            distance=np.where(accept, measurement.distance, population.distance),
        )
        return Moved(
            population=population,
            acceptance=float(accept.sum() / population.alive.sum()),
            measurement=measurement,
            simulations=self.simulations_per_round(problem),
            row={},
        )

    def remedy(self, row: dict[str, float | int]) -> str:
        """More simulations for each move."""
        return "To continue, use pliant.MHABC(), which simulates until it hits."
