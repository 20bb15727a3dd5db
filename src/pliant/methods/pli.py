"""Pseudo-Likelihood Inference, Algorithm 1 of the paper."""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from pliant._checks import check_instance, check_integer, check_real
from pliant.densities.base import AbstractFamily, AbstractModel
from pliant.densities.reverse import reverse_project
from pliant.densities.spline_flow import SplineFlow
from pliant.densities.training import Training
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    AbstractWeighableDiscrepancy,
    check_draws,
)
from pliant.discrepancies.euclidean import Euclidean
from pliant.discrepancies.feature_scale import with_feature_scale
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy
from pliant.discrepancies.likelihood_kl import LikelihoodKL
from pliant.discrepancies.measured import (
    Measurement,
    learn_and_measure,
    measure_parameters,
    measure_without_simulating,
    measured_particles,
)
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.particles import Particles
from pliant.methods.base import (
    FEWEST_PARTICLES,
    AbstractMethod,
    Outcome,
    nothing_usable,
)
from pliant.methods.pli_report import (
    converged,
    diverged,
    is_settled,
    round_row,
    too_noisy,
)
from pliant.problem.problem import Problem
from pliant.weighting.calibration import calibrated_bandwidth
from pliant.weighting.final_check import FinalCheck, final_check
from pliant.weighting.kernels import AbstractKernel, ExponentialKernel
from pliant.weighting.partition import PartitionFunction, PreparedPartition
from pliant.weighting.reuse import Earlier, pooled
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.schedules.trust_region import TrustRegion
from pliant.weighting.weights import Tempering, full_tempering, log_weights

# The paper's eleven lengthscales are mostly long, where a kernel sees little but the mean. Four
# short ones see covariances too (SLCP, N = 100: the correlation's spread is 2.4 instead of
# 3.2 times the exact one), and two long ones reach parameters that are far off.
_LENGTHSCALES = (2.0, 4.0, 8.0, 16.0, 128.0, 1024.0)
_PARAMETERS = 5000  # in a round, unless a budget allows fewer
_LEARNED_PARAMETERS = 2000
_LEARNED_DRAWS = 20  # draws of each parameter, where single draws are learned from
_WIDE = 0.2  # of the log-likelihood: such a posterior is more than twice as wide as the last


class PLI(AbstractMethod):
    """Pseudo-Likelihood Inference with a trust region on every round's information loss.

    Each round draws ``n_particles`` parameters from the last posterior q, simulates ``n_draws``
    observations with each, compares every set with the observed one, weights the
    parameters by ``(p / q)^power exp(-D / (2 beta_t))``, and fits the next posterior.

    Args:
        rounds: The number of rounds T.
        n_particles: Parameters in a round, the paper's K; None for 5000, or 2000 with a learned
            discrepancy, or for what ``max_simulations`` allows.
        n_draws: Draws for each parameter, the paper's M; None for ``max(N, 100)``: fewer make
            distances so noisy that the posterior contracts to a wrong point. A learned
            discrepancy needs 20.
        discrepancy: The distance D between sets, or a learned likelihood.
        family: What the posterior can be.
        schedule: The rule for beta_t.
        kernel: What turns a distance into a pseudo-likelihood; the paper's is exponential.
        beta: The target bandwidth in ``exp(-D / (2 beta))``; None for ``0.05 / N``, which gives
            the exact posterior's width on the Gaussian location task for every N; or for
            ``0.5 / N`` with a learned discrepancy, where it is exact (Lemma 1). "calibrated"
            begins there and, once the posterior has reached it, takes in every round the
            bandwidth at which the posterior is as wide as its centre varies when the
            observations are resampled (MMD and Energy).
        projection: "m" for weighted maximum likelihood (appendix A.2), "i" for the reverse
            KL (appendix A.3).
        partition: How to estimate Z(theta); None takes it as constant, as the paper does.
        noise_limit: The run stops when, two rounds running, the noise of the distances makes up
            more than this share of their variance while eta is above zero; None never stops
            it. With M = N the share is 0.75 at the exact posterior of a location model, and
            0.96 at half its width.
        reuse: How many earlier rounds' simulations are weighted into each round, by the densities
            that they were drawn from. Not for a learned discrepancy, which learns from them
            anyway, nor for the projection "i".
        chunk_size: Parameters that are simulated at a time; None to bound the memory. It
            does not change the result.
    """

    rounds: int = eqx.field(static=True, default=20)
    n_particles: int | None = eqx.field(static=True, default=None)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractDiscrepancy | AbstractLearnedDiscrepancy = MMD(lengthscales=_LENGTHSCALES)
    family: AbstractFamily = SplineFlow()
    schedule: AbstractSchedule = TrustRegion(epsilon=1.0, path="corrected")
    kernel: AbstractKernel = ExponentialKernel()
    beta: float | Literal["calibrated"] | None = eqx.field(static=True, default=None)
    projection: Literal["m", "i"] = eqx.field(static=True, default="m")
    partition: PartitionFunction | None = None
    noise_limit: float | None = eqx.field(static=True, default=0.9)
    reuse: int = eqx.field(static=True, default=0)
    chunk_size: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_integer("rounds", self.rounds, at_least=1)
        if self.n_particles is not None:
            check_integer("n_particles", self.n_particles, at_least=FEWEST_PARTICLES)
        if self.n_draws is not None:
            check_integer("n_draws", self.n_draws, at_least=1)
        kinds = (AbstractDiscrepancy, AbstractLearnedDiscrepancy)
        check_instance("discrepancy", self.discrepancy, kinds, "pliant.MMD()")
        check_instance("family", self.family, AbstractFamily, "pliant.SplineFlow()")
        check_instance("schedule", self.schedule, AbstractSchedule, "pliant.TrustRegion()")
        check_instance("kernel", self.kernel, AbstractKernel, "pliant.ExponentialKernel()")
        if isinstance(self.beta, str):
            self._check_calibration(self.beta)
        elif self.beta is not None:
            check_real("beta", self.beta, above=0)
        if self.projection not in ("m", "i"):
            raise ValueError(f'projection: expected "m" or "i", got {self.projection!r}.')
        if self.partition is not None:
            check_instance("partition", self.partition, PartitionFunction, "PartitionFunction()")
        if self.noise_limit is not None:
            check_real("noise_limit", self.noise_limit, above=0)
        if self.chunk_size is not None:
            check_integer("chunk_size", self.chunk_size, at_least=1)
        check_integer("reuse", self.reuse, at_least=0)
        if self.reuse and (self.learns or self.projection == "i"):
            raise ValueError("reuse: it needs a discrepancy that is measured, and projection='m'.")

    def _check_calibration(self, beta: str) -> None:
        if beta != "calibrated":
            raise ValueError(f'beta: expected a positive number or "calibrated", got {beta!r}.')
        if not isinstance(self.discrepancy, AbstractWeighableDiscrepancy):
            name = type(self.discrepancy).__name__
            raise ValueError(
                f'beta: "calibrated" resamples observations, which {name} cannot. Use '
                "pliant.MMD() or pliant.Energy(), or give a number."
            )
        if self.partition is not None:
            raise ValueError(
                'partition: it belongs to one bandwidth, and beta="calibrated" changes that. '
                "Leave one of them out."
            )

    @classmethod
    def paper(cls, n_obs: int, **options: Any) -> "PLI":
        """The settings of the paper's experiments (Table C.1): M = N, beta = 5e-4 for every N.

        Long: the flow is trained anew in each round, 5000 passes over 5000 samples. With one
        observation the paper compares it by squared error.

        Args:
            n_obs: N, the number of observations.
            **options: Anything that PLI takes, in place of the paper's setting.
        """
        check_integer("n_obs", n_obs, at_least=1)
        training = Training(steps=200_000, rate=1e-4, every=1000, patience=200)
        settings = {
            "rounds": 20,
            "n_particles": 5000,
            "n_draws": n_obs,
            "beta": 5e-4,
            "discrepancy": MMD() if n_obs > 1 else Euclidean(),
            "family": SplineFlow(training=training, batch_size=125, warm_start=False),
            "schedule": TrustRegion(epsilon=0.5),
            "noise_limit": None,
        }
        return cls(**{**settings, **options})

    @classmethod
    def accurate(cls, **options: Any) -> "PLI":
        """A learned likelihood in place of a distance: nearer to the exact posterior.

        It needs a tenth of the simulations or less (20 draws of each of 2000 parameters in a
        round), and the run ends when two rounds agree. For observations of up to a hundred
        numbers; see ``LikelihoodKL`` and ``RatioKL``.

        Args:
            **options: Anything that PLI takes, in place of these settings.
        """
        return cls(**{"discrepancy": LikelihoodKL(), **options})

    def resolved(self, problem: Problem) -> "PLI":
        """The same options, with those that depend on the number of observations filled in."""
        beta = self.beta if self.beta == "calibrated" else self._first_beta(problem)
        return dataclasses.replace(
            self, n_particles=self._n_particles, n_draws=self._n_draws(problem), beta=beta
        )

    @property
    def learns(self) -> bool:
        """Whether the discrepancy is learned."""
        return isinstance(self.discrepancy, AbstractLearnedDiscrepancy)

    def simulations_per_round(self, problem: Problem) -> int:
        """K times M."""
        return self._n_particles * self._n_draws(problem)

    def init(self, key: Key[Array, ""], problem: Problem) -> tuple["PLIState", int]:
        """Fix the features' scales and prepare what depends on the observations alone."""
        if isinstance(self.discrepancy, AbstractLearnedDiscrepancy):
            return self._start_learning(self.discrepancy, problem), 0
        check_draws(self.discrepancy, self._n_draws(problem))
        scale_key = jax.random.fold_in(key, 0)
        discrepancy, simulations = with_feature_scale(scale_key, problem, self.discrepancy)
        discrepancy = discrepancy.for_sizes(self._n_draws(problem), problem.n_obs)
        prepared = None
        if self.partition is not None:
            partition_key = jax.random.fold_in(key, 1)
            prepared = self.partition.prepare(
                partition_key, problem, discrepancy, self.kernel, self._first_beta(problem)
            )
        measured = discrepancy.prepare(problem.observed)
        return PLIState(discrepancy, measured, prepared, self._first_beta(problem)), simulations

    def _start_learning(
        self, discrepancy: AbstractLearnedDiscrepancy, problem: Problem
    ) -> "PLIState":
        if self.partition is not None:
            raise ValueError(
                "partition: a learned likelihood is normalised; leave the partition function out."
            )
        discrepancy.check(problem)
        return PLIState(discrepancy, None, None, self._first_beta(problem))

    def step(self, key: Key[Array, ""], problem: Problem, state: "PLIState") -> Outcome:
        """One round of Algorithm 1."""
        sample_key, measure_key, fit_key = jax.random.split(key, 3)
        particles, measurement, measured = self._propose(sample_key, measure_key, problem, state)
        state = dataclasses.replace(state, measured=measured)
        n_usable = int(np.sum(np.isfinite(particles.distance)))
        cost = self.simulations_per_round(problem)
        if n_usable < FEWEST_PARTICLES:
            row = {"usable": measurement.usable}
            return Outcome(state, row, cost, nothing_usable(n_usable, self._n_particles))
        if self.reuse:
            newest = Earlier(state.density, particles)
            particles = pooled(problem, newest, state.earlier, rounds=self.reuse + 1)
            earlier = (newest, *state.earlier)[: self.reuse]
            state = dataclasses.replace(state, earlier=earlier)

        beta, last = self._target(state, particles, measurement)
        tempering = self.schedule.step(particles, self.kernel, beta, last)
        log_w = log_weights(particles, self.kernel, tempering, beta)
        row = round_row(particles, measurement, tempering, beta, log_w)
        noisy = row["eta"] > 0 and row["noise_share"] > (self.noise_limit or np.inf)
        if noisy and state.noisy:
            return Outcome(state, row, cost, too_noisy(row, self._n_draws(problem), beta))

        density, info = self._fit(fit_key, problem, state.density, particles, log_w)
        row |= {name: np.asarray(value).item() for name, value in info.items()}
        if not _is_finite(density):
            return Outcome(state, row, cost, diverged())
        whole = tempering.power == 1 and tempering.bandwidth == beta
        settled = self.learns and whole and is_settled(particles, log_w)  # noise would hide it
        stop = converged() if settled and state.settled else None
        state = dataclasses.replace(
            state,
            beta=beta,
            density=density,
            wide=density if tempering.level < _WIDE else state.wide,
            tempering=tempering,
            noisy=noisy,
            settled=settled,
        )
        return Outcome(state, row, cost, stop)

    def _target(
        self, state: "PLIState", particles: Particles, measurement: Measurement
    ) -> tuple[float, Tempering | None]:
        """The target bandwidth of this round, and the last tempering as seen from it."""
        last = state.tempering
        if self.beta != "calibrated" or last is None or last.level < 1:
            return state.beta, last
        log_w = log_weights(
            particles, self.kernel, full_tempering(state.beta, state.beta), state.beta
        )
        asked = np.flatnonzero(np.isfinite(particles.distance[: len(measurement.influences)]))
        found = calibrated_bandwidth(
            particles.z[asked], log_w[asked], measurement.influences[asked], state.beta
        )
        beta = float(np.sqrt(found * state.beta))  # half of the way, as each estimate is noisy
        return beta, dataclasses.replace(last, level=min(1.0, beta / state.beta))

    def check(self, key: Key[Array, ""], problem: Problem, state: "PLIState") -> FinalCheck | None:
        """Weigh new draws of the posterior by ``p L / q``, where L is learned.

        The noise of measured distances would make up most of the weights' spread: with M = N,
        three quarters of their variance at the exact posterior.
        """
        discrepancy = state.discrepancy
        if state.density is None or not isinstance(discrepancy, AbstractLearnedDiscrepancy):
            return None
        z = state.density.sample(key, discrepancy.n_evaluated)
        measurement = measure_without_simulating(problem, discrepancy, state.measured, z)
        particles = measured_particles(problem, state.density, z, measurement)
        target = full_tempering(state.beta, state.beta)
        log_w = log_weights(particles, self.kernel, target, state.beta)
        return final_check(particles.z, log_w)

    def posterior(self, state: "PLIState") -> AbstractModel | None:
        """The density of the last round that went well."""
        return state.density

    def _propose(
        self,
        sample_key: Key[Array, ""],
        measure_key: Key[Array, ""],
        problem: Problem,
        state: "PLIState",
    ) -> tuple[Particles, Measurement, Any]:
        """Draw parameters from the last posterior, and measure their distances."""
        proposal = problem.prior if state.density is None else state.density
        z = proposal.sample(sample_key, self._n_particles)
        if isinstance(state.discrepancy, AbstractLearnedDiscrepancy):
            z, measurement, measured = learn_and_measure(
                measure_key,
                problem,
                state.discrepancy,
                state.measured,
                proposal,
                z,
                self._n_draws(problem),
                wide=state.wide,
            )
        else:
            measurement, measured = measure_parameters(
                measure_key,
                problem,
                state.discrepancy,
                state.measured,
                z,
                self._n_draws(problem),
                partition=state.partition,
                chunk_size=self.chunk_size,
                with_influences=self.beta == "calibrated",
            )
        return measured_particles(problem, proposal, z, measurement), measurement, measured

    def _fit(
        self,
        key: Key[Array, ""],
        problem: Problem,
        last: AbstractModel | None,
        particles: Particles,
        log_w: np.ndarray,
    ) -> tuple[AbstractModel, dict[str, Any]]:
        z, weights = jnp.asarray(particles.z, float), jnp.asarray(log_w - log_w.max(), float)
        if self.projection == "m":
            return self.family.fit(key, z, weights, last)
        proposal = problem.prior if last is None else last
        return reverse_project(key, self.family, z, weights, proposal, last)

    @property
    def _n_particles(self) -> int:
        if self.n_particles is not None:
            return self.n_particles
        return _LEARNED_PARAMETERS if self.learns else _PARAMETERS

    def _n_draws(self, problem: Problem) -> int:
        if self.n_draws is not None:
            return self.n_draws
        return _LEARNED_DRAWS if self.learns else max(problem.n_obs, 100)

    def _first_beta(self, problem: Problem) -> float:
        if self.beta is None or isinstance(self.beta, str):
            return self.discrepancy.default_beta(problem.n_obs)
        return self.beta


class PLIState(eqx.Module):
    """What a run of PLI knows after a round."""

    discrepancy: AbstractDiscrepancy | AbstractLearnedDiscrepancy
    measured: Any
    """The discrepancy's state."""
    partition: PreparedPartition | None
    beta: float
    """The target bandwidth."""
    density: AbstractModel | None = None
    wide: AbstractModel | None = None
    """The last density that had taken in little of the likelihood."""
    tempering: Tempering | None = None
    noisy: bool = False
    """Whether noise dominated the distances of the round."""
    settled: bool = False
    """Whether the round's proposal was nearly the target already."""
    earlier: tuple[Earlier, ...] = ()
    """Rounds whose simulations are used again, the newest first."""


def _is_finite(density: AbstractModel) -> bool:
    leaves = jax.tree.leaves(eqx.filter(density, eqx.is_inexact_array))
    return all(np.all(np.isfinite(leaf)) for leaf in leaves)
