"""PMC-ABC, Algorithm 3 of the paper."""

import dataclasses
import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy.special import logsumexp

from pliant._checks import check_instance, check_real
from pliant._importance import normalise
from pliant.densities.base import AbstractDensity
from pliant.densities.mixture import GaussianMixture, MixtureDensity
from pliant.densities.particles import KernelMixture
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, Measurement
from pliant.discrepancies.mmd import MMD
from pliant.methods.abc.population import Population, walk_cholesky
from pliant.methods.abc.sampler import (
    ABCState,
    AbstractABC,
    log_prior,
    population_row,
    sequence_shortfall,
    tolerance_reached,
    too_few_accepted,
)
from pliant.methods.base import FEWEST_PARTICLES, Outcome, Rows, nothing_usable
from pliant.problem.problem import Problem


class PMCABC(AbstractABC):
    """The adaptive population Monte Carlo sampler of Lenormand, Jabot and Deffuant (2013).

    Each round keeps the share ``alpha`` of the particles whose distances are smallest, fills the
    population up with draws from a proposal q that is made from these, and weights the new ones
    by ``p(theta) / q(theta)``. The bandwidth is the largest distance of those that are kept, and
    these are the posterior.

    Args:
        rounds: The most rounds T.
        n_particles: The size K of the population before the worst are dropped.
        n_draws: Draws for each particle, the paper's M; None for N.
        discrepancy: The distance D between sets.
        alpha: The share of particles that is kept (the paper: 0.1, Lenormand et al.: 0.5).
        perturbation: The mixture that is fitted to the kept particles and, with its covariances
            doubled, proposes new ones; None perturbs a kept particle by a Gaussian with
            twice their weighted covariance, so that ``q(theta) = sum_j w_j K(theta_j, theta)``.
        weights: The density q in the weight of a particle: that of the round that drew it
            ("round", as in the paper), or the average over all rounds' proposals, by their
            numbers of draws ("all"). Both are correct. A particle that was kept for many rounds
            has a large weight with "round", as its own proposal was broad, and a few such
            particles dominate: on SLCP with 100 observations and the paper's settings, the
            effective sample size is 10 to 31 of 100 particles with "round" and 77 to 81 with "all".
        tolerance: The bandwidth at which the run ends; None for none.
        min_acceptance: The run ends when no more than this share of the new particles comes
            within the last bandwidth; None never ends it.
        chunk_size: Parameters that are simulated at a time; None to bound the memory. It
            does not change the result.
    """

    rounds: int = eqx.field(static=True, default=200)
    n_particles: int = eqx.field(static=True, default=1000)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractMeasuredDiscrepancy = MMD(lengthscales=PAPER_LENGTHSCALES)
    alpha: float = eqx.field(static=True, default=0.5)
    perturbation: GaussianMixture | None = GaussianMixture(components=5, starts=1)
    weights: Literal["round", "all"] = eqx.field(static=True, default="round")
    tolerance: float | None = eqx.field(static=True, default=None)
    min_acceptance: float | None = eqx.field(static=True, default=0.015)
    chunk_size: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_real("alpha", self.alpha, above=0, below=1)
        if self.perturbation is not None:
            example = "pliant.GaussianMixture(components=5)"
            check_instance("perturbation", self.perturbation, GaussianMixture, example)
        if self.weights not in ("round", "all"):
            raise ValueError(f'weights: expected "round" or "all", got {self.weights!r}.')
        if self.tolerance is not None:
            check_real("tolerance", self.tolerance, above=0)
        if self.min_acceptance is not None:
            check_real("min_acceptance", self.min_acceptance, above=0, below=1)

    @classmethod
    def paper(cls, **options: Any) -> "PMCABC":
        """The settings of the paper's experiments (Table C.3): 200 rounds, alpha = 0.1, M = N.

        MMD is exact for every N. A single observation needs ``discrepancy=pliant.Euclidean()``.

        Args:
            **options: Anything that PMCABC takes, in place of the paper's setting.
        """
        settings = {
            "rounds": 200,
            "n_particles": 1000,
            "discrepancy": MMD(lengthscales=PAPER_LENGTHSCALES, most_partners=None),
            "alpha": 0.1,
            "perturbation": GaussianMixture(components=5, starts=1),
            "weights": "round",
            "min_acceptance": None,
        }
        return cls(**{**settings, **options})

    @property
    def n_kept(self) -> int:
        """The particles that are kept; at least one of the population is new."""
        return min(round(self.alpha * self.n_particles), self.n_particles - 1)

    @property
    def sets_per_round(self) -> int:
        """``n_particles`` in the first round, fewer in the others."""
        return self.n_particles

    def step(self, key: Key[Array, ""], problem: Problem, state: ABCState) -> Outcome:
        """The first round draws from the prior, the others from what was kept."""
        proposals = state.proposals
        if state.population is None:
            population, measurement = self.prior_population(key, problem, state)
            acceptance, n_new = 1.0, self.n_particles
        else:
            kept, n_new = state.population, self.n_particles - self.n_kept
            new, measurement, proposal = self._propose(key, problem, state, n_new)
            acceptance = float(np.mean(new.distance <= kept.bandwidth))
            population = _joined(kept, new)
            proposals = (*proposals, proposal) if self.weights == "all" else ()
        cost = n_new * self.draws(problem)
        n_usable = int(np.isfinite(population.distance).sum())
        if n_usable < FEWEST_PARTICLES:
            row = measurement.row
            return Outcome(state, row, cost, nothing_usable(n_usable, self.n_particles))
        best = closest(population, self.n_kept)
        if self.weights == "all":
            best = self._weighted_by_all(best, proposals)
        row = population_row(best, acceptance) | measurement.row
        state = dataclasses.replace(state, population=best, proposals=proposals)
        stop = None
        if self.tolerance is not None and best.bandwidth <= self.tolerance:
            stop = tolerance_reached(self.tolerance)
        elif self.min_acceptance is not None and acceptance <= self.min_acceptance:
            remedy = "To continue, lower min_acceptance."
            stop = too_few_accepted(acceptance, self.min_acceptance, remedy)
        return Outcome(state, row, cost, stop)

    def shortfall(self, problem: Problem, state: ABCState, rows: Rows) -> str:
        """How far the bandwidth is from its tolerance, or whether it was still falling."""
        return sequence_shortfall(rows, state.population, self.tolerance, lowest=None)

    def _propose(
        self, key: Key[Array, ""], problem: Problem, state: ABCState, n: int
    ) -> tuple[Population, Measurement, AbstractDensity]:
        fit_key, sample_key, measure_key = jax.random.split(key, 3)
        proposal = self.proposal(fit_key, state.population)
        z = proposal.sample(sample_key, n)
        measurement = self.measure(measure_key, problem, state, z)
        prior = log_prior(problem, z)
        log_weights = prior - np.asarray(proposal.log_prob(z), np.float64)
        new = Population(
            z=np.asarray(z, np.float64),
            log_prior=prior,
            distance=measurement.distance,
            log_weights=np.where(np.isfinite(measurement.distance), log_weights, -np.inf),
            bandwidth=np.inf,
        )
        return new, measurement, proposal

    def _weighted_by_all(
        self, population: Population, proposals: tuple[AbstractDensity, ...]
    ) -> Population:
        """Weights ``p / q`` with the mean q of all rounds' draws (Veach's balance heuristic)."""
        z, new = jnp.asarray(population.z, float), self.n_particles - self.n_kept
        later = [np.asarray(proposal.log_prob(z), np.float64) for proposal in proposals]
        log_q = np.stack([population.log_prior, *later])  # the first round drew from the prior
        counts = np.array([self.n_particles, *[new] * len(later)], float)
        log_mean = logsumexp(log_q, axis=0, b=(counts / counts.sum())[:, None])
        log_weights = np.where(population.alive, population.log_prior - log_mean, -np.inf)
        return dataclasses.replace(population, log_weights=log_weights)

    def proposal(self, key: Key[Array, ""], population: Population) -> AbstractDensity:
        """The density q that new particles are drawn from."""
        z = jnp.asarray(population.z, float)
        if self.perturbation is None:
            weights = jnp.asarray(normalise(population.log_weights), float)
            return KernelMixture(z, weights, jnp.asarray(walk_cholesky(population), float))
        log_weights = population.log_weights - population.log_weights.max()
        fitted, _ = self.perturbation.fit(key, z, jnp.asarray(log_weights, float), None)
        return _doubled(fitted)


def closest(population: Population, n: int) -> Population:
    """The ``n`` particles of the smallest distances, the largest of which is the bandwidth.

    The weights ``p / q`` stay as they are: each belongs to the normalised proposal of the round
    that drew the particle, so that those of different rounds can be compared. Where too few
    distances are known, particles without one, and without weight, fill the places.
    """
    best = np.argsort(population.distance, kind="stable")[:n]
    distance = population.distance[best]
    return Population(
        z=population.z[best],
        log_prior=population.log_prior[best],
        distance=distance,
        log_weights=population.log_weights[best],
        bandwidth=float(distance[np.isfinite(distance)].max()),
    )


def _joined(kept: Population, new: Population) -> Population:
    arrays = [
        np.concatenate(pair)
        for pair in (
            (kept.z, new.z),
            (kept.log_prior, new.log_prior),
            (kept.distance, new.distance),
            (kept.log_weights, new.log_weights),
        )
    ]
    return Population(*arrays, bandwidth=kept.bandwidth)


def _doubled(mixture: MixtureDensity) -> MixtureDensity:
    """The same mixture with twice the covariances: wide enough to be drawn from with weights."""
    parts = mixture.components
    wide = parts.log_diagonal + 0.5 * math.log(2), parts.below * 2**0.5
    return eqx.tree_at(lambda m: (m.components.log_diagonal, m.components.below), mixture, wide)
