"""Pseudo-Likelihood Inference, Algorithm 1 of the paper."""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.densities.base import (
    AbstractDensity,
    AbstractFamily,
    AbstractModelFamily,
    is_finite,
)
from pliant.densities.reverse import reverse_project
from pliant.densities.spline_flow import SplineFlow
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    Evaluation,
    Particles,
    Proposal,
    RoundOptions,
)
from pliant.discrepancies.euclidean import Euclidean
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.likelihood import LearnedLikelihood
from pliant.discrepancies.mmd import MMD
from pliant.methods.base import FEWEST_PARTICLES, AbstractMethod, Outcome, Rows, nothing_usable
from pliant.methods.choice import choose_discrepancy
from pliant.methods.pli_checks import check_options
from pliant.methods.pli_report import (
    SURE,
    converged,
    diverged,
    is_close,
    is_settled,
    round_row,
    shortfall,
    too_noisy,
)
from pliant.methods.pli_state import PLIState, likelihood_of
from pliant.problem.problem import Problem
from pliant.weighting.calibration import calibrated_bandwidth
from pliant.weighting.final_check import FinalCheck, final_check
from pliant.weighting.kernels import AbstractKernel, ExponentialKernel
from pliant.weighting.partition import PartitionFunction
from pliant.weighting.reuse import EarlierRound, pooled
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.schedules.trust_region import TrustRegion
from pliant.weighting.weights import Tempering, contained, full_tempering, log_weights

_STEPS = 4  # on the path to the target with one learned likelihood
_FOLLOWED = 2000  # draws in each of these steps: as in a default round, which has compiled for it
_CHECKED = 5000  # draws of the final check, and of steps at the target


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
            discrepancy makes 20, or up to 200 where a simulator is a JAX function.
        discrepancy: The distance D between sets, or a learned likelihood; None learns the
            likelihood of observations of up to 30 numbers, and a ratio for longer ones.
        family: What the posterior can be.
        schedule: The rule for beta_t.
        kernel: What turns a distance into a pseudo-likelihood; the paper's is exponential.
        beta: The target bandwidth in ``exp(-D / (2 beta))``; None for ``0.05 / N``, which gives
            the exact posterior's width on the Gaussian location task for every N; or for
            ``0.5 / N`` with a learned discrepancy, where it is exact (Lemma 1). "calibrated"
            begins there and, once the posterior has reached it, takes in every round the
            bandwidth at which the posterior is as wide as its centre varies when the
            observations are resampled (MMD and Energy).
        projection: "m" for weighted maximum likelihood, "i" for the reverse KL.
        partition: How to estimate Z(theta); None takes it as constant, as the paper does.
        noise_limit: The run stops if, in two successive rounds, noise is more than this share of
            the distances' variance while eta is above zero; None never stops it. With M = N the
            share is 0.75 at the exact posterior of a location model, 0.96 at half its width.
        reuse: How many earlier rounds' simulations are weighted into each round. Not for a learned
            discrepancy, which learns from them anyway, nor for the projection "i".
        chunk_size: Parameters simulated at a time, which changes no bit; None bounds the memory.
    """

    rounds: int = eqx.field(static=True, default=20)
    n_particles: int | None = eqx.field(static=True, default=None)
    n_draws: int | None = eqx.field(static=True, default=None)
    discrepancy: AbstractDiscrepancy | None = None
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
        check_options(self)

    @classmethod
    def paper(cls, n_obs: int, **options: Any) -> "PLI":
        """The settings of the paper's experiments (Table C.3): M = N, beta = 5e-4 for every N.

        MMD is exact for every N; with one observation the paper compares it by squared error. A
        run is long: see ``SplineFlow.paper``.

        Args:
            n_obs: N, the number of observations.
            **options: Anything that PLI takes, in place of the paper's setting.
        """
        check_integer("n_obs", n_obs, at_least=1)
        mmd = MMD(lengthscales=PAPER_LENGTHSCALES, most_partners=None)
        settings = {
            "rounds": 20,
            "n_particles": 5000,
            "n_draws": n_obs,
            "beta": 5e-4,
            "discrepancy": mmd if n_obs > 1 else Euclidean(),
            "family": SplineFlow.paper(),
            "schedule": TrustRegion(epsilon=0.5),
            "noise_limit": None,
        }
        return cls(**{**settings, **options})

    def chosen(self, problem: Problem) -> tuple["PLI", str]:
        """With a discrepancy, and why that was chosen; no reason if it was given."""
        if self.discrepancy is not None:
            return self, ""
        choice = choose_discrepancy(problem)
        return dataclasses.replace(self, discrepancy=choice.discrepancy), choice.reason

    def resolved(self, problem: Problem) -> "PLI":
        """The same options, with those that depend on the problem filled in."""
        if self.discrepancy is None:
            return self.chosen(problem)[0].resolved(problem)
        n_particles, n_draws = self._sizes(problem)
        beta = self.beta if self.beta == "calibrated" else self._first_beta(problem)
        return dataclasses.replace(self, n_particles=n_particles, n_draws=n_draws, beta=beta)

    def simulations_per_round(self, problem: Problem) -> int:
        """K times M."""
        return int(np.prod(self._sizes(problem), dtype=object))  # of any size

    def within_budget(self, problem: Problem, max_simulations: int) -> "PLI":
        """The same method with rounds and sizes that keep to the budget, where none are given."""
        pilot = 0 if self.partition is None else self.partition.simulations
        left = max_simulations - self._discrepancy(problem).simulations_before(problem) - pilot
        given = self.n_particles is not None and self.n_draws is not None
        if given or self.rounds * self.simulations_per_round(problem) <= left:
            return self
        rounds, n_draws, reuse = self._discrepancy(problem).budgeted_sizes(
            problem, self.rounds, left
        )
        share = left // rounds
        if self.n_particles is not None:
            n_particles, n_draws = self.n_particles, max(1, share // self.n_particles)
        else:
            n_draws = n_draws if self.n_draws is None else self.n_draws
            n_particles = max(FEWEST_PARTICLES, share // n_draws)
        if self.reuse or self.projection == "i":
            reuse = self.reuse
        return dataclasses.replace(
            self, rounds=rounds, n_particles=n_particles, n_draws=n_draws, reuse=reuse
        )

    def check_memory(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if the sets of a round cannot fit into memory."""
        self._discrepancy(problem).check_memory(problem, *self._sizes(problem), self.chunk_size)

    def init(self, key: Key[Array, ""], problem: Problem) -> tuple[PLIState, int]:
        """Line 2: the first proposal is the prior. Prepare the discrepancy for the problem."""
        beta, n_draws = self._first_beta(problem), self._sizes(problem)[1]
        state, calls = self._discrepancy(problem).init(jax.random.fold_in(key, 0), problem, n_draws)
        if self.partition is None:
            return PLIState(state, None, beta), calls
        key = jax.random.fold_in(key, 1)
        partition, pilot = self.partition.prepare(key, problem, state, self.kernel, beta)
        return PLIState(state, partition, beta), calls + pilot

    def step(self, key: Key[Array, ""], problem: Problem, state: PLIState) -> Outcome:
        """Lines 4 to 12: one round."""
        sample_key, evaluate_key, fit_key = jax.random.split(key, 3)
        n_particles, n_draws = self._sizes(problem)
        proposal = state.proposal(problem)

        # Line 4: sample parameters from the proposal.
        z = proposal.density.sample(sample_key, n_particles)
        # Lines 5 to 8: simulate data with each, and compute their distances.
        influences = self.beta == "calibrated"
        options = RoundOptions(n_draws, self.chunk_size, influences, state.partition)
        evaluation = self._discrepancy(problem).evaluate(
            evaluate_key, problem, state.discrepancy, proposal, z, options
        )
        if state.partition is not None:
            evaluation = state.partition.corrected(evaluation)
        particles, calls = evaluation.particles, evaluation.simulations
        state = dataclasses.replace(state, discrepancy=evaluation.state)
        n_usable = int(np.sum(np.isfinite(particles.distance)))
        if n_usable < FEWEST_PARTICLES:
            return Outcome(state, evaluation.row, calls, nothing_usable(n_usable, n_particles))
        if self.reuse:
            newest = EarlierRound(state.density, particles)
            particles = pooled(problem, newest, state.earlier, rounds=self.reuse + 1)
            earlier = (newest, *state.earlier)[: self.reuse]
            state = dataclasses.replace(state, earlier=earlier)

        # Line 9: update eta_t, and with it the bandwidth (1 + eta_t) beta.
        beta, last = self._target(state, particles, evaluation)
        tempering = self.schedule.step(particles, self.kernel, beta, last)
        # Line 10: evaluate the tempered pseudo-likelihood.
        log_w = log_weights(particles, self.kernel, tempering, beta)
        row = round_row(particles, evaluation, tempering, beta, log_w)
        approaching = evaluation.beta is not None
        noisy = row["eta"] > 0 and row["noise_share"] > (self.noise_limit or np.inf)
        if noisy and state.noisy and not approaching:
            return Outcome(state, row, calls, too_noisy(row, n_draws, beta))

        # Line 11: fit the posterior.
        density, info = self._fit(fit_key, proposal, state.density, particles, log_w)
        row |= {name: np.asarray(value).item() for name, value in info.items()}
        if not is_finite(density):
            return Outcome(state, row, calls, diverged())
        arrived = tempering.power == 1 and tempering.bandwidth == beta
        known = not self._discrepancy(problem).is_noisy and not approaching
        settled = known and arrived and is_settled(particles, log_w)
        sure = row["log_likelihood_se"] < SURE if "log_likelihood_se" in row else state.settled
        stop = converged(row) if settled and sure else None
        # Line 12: it is the next proposal.
        beta = state.beta if approaching else beta
        state = dataclasses.replace(state, beta=beta, noisy=noisy, settled=settled)
        state = state.moved(density, tempering, approaching=approaching)
        if known:
            key, done = jax.random.fold_in(fit_key, 1), is_close(particles, tempering, log_w)
            state, more = self._further(key, problem, state, done=done)
            row |= more
        return Outcome(state, row, calls, stop)

    def _further(
        self, key: Key[Array, ""], problem: Problem, state: PLIState, *, done: bool
    ) -> tuple[PLIState, dict[str, float]]:
        """Further steps of lines 9 to 12 with a likelihood that costs no simulation.

        They end at the target, once the posterior is close to it. ``done`` tells whether it is.
        """
        steps = 1
        while steps < _STEPS and not (done and state.level == 1):
            sample_key, fit_key = jax.random.split(jax.random.fold_in(key, steps))
            proposal = state.proposal(problem)
            z, log_base = proposal.draws(sample_key, _FOLLOWED if state.level < 1 else _CHECKED)
            distance = self._discrepancy(problem).distances_again(problem, state.discrepancy, z)
            if distance is None:
                break
            particles = proposal.particles(problem, z, distance, log_base=log_base, is_noisy=False)
            tempering = self.schedule.step(particles, self.kernel, state.beta, state.tempering)
            log_w = log_weights(particles, self.kernel, tempering, state.beta)
            density, _ = self._fit(fit_key, proposal, state.density, particles, log_w)
            if not is_finite(density):
                break
            state, done = state.moved(density, tempering), is_close(particles, tempering, log_w)
            steps += 1
        return state, {"steps": steps, "level": state.level, "eta": state.eta}

    def likelihood(self, problem: Problem, state: PLIState) -> LearnedLikelihood | None:
        """That of a learned discrepancy."""
        return likelihood_of(self._discrepancy(problem), self.kernel, problem, state)

    def check(self, key: Key[Array, ""], problem: Problem, state: PLIState) -> FinalCheck | None:
        """Weight new draws of the posterior by ``p L / q``, where L can be evaluated again."""
        if state.density is None or self._discrepancy(problem).is_noisy:
            return None
        z = state.density.sample(key, _CHECKED)
        distance = self._discrepancy(problem).distances_again(problem, state.discrepancy, z)
        if distance is None:
            return None
        particles = state.proposal(problem).particles(problem, z, distance, is_noisy=False)
        target = full_tempering(state.beta, state.beta)
        log_w = log_weights(particles, self.kernel, target, state.beta)
        return final_check(particles.z, log_w)

    def shortfall(self, problem: Problem, state: PLIState, rows: Rows) -> str:
        """How far a run that ends now is from its target; empty if it has arrived."""
        if state.density is None:
            return ""
        return shortfall(rows[-1], state, learned=not self._discrepancy(problem).is_noisy)

    def posterior(self, state: PLIState) -> AbstractDensity | None:
        """The density of the last round that succeeded."""
        return state.density

    def _target(
        self, state: PLIState, particles: Particles, evaluation: Evaluation
    ) -> tuple[float, Tempering | None]:
        """The target bandwidth of this round, and the last tempering relative to it."""
        last = state.tempering
        if evaluation.beta is not None:
            return evaluation.beta, last
        if state.approaching:
            return state.beta, contained(particles, self.kernel, state.beta)
        if self.beta != "calibrated" or last is None or last.level < 1:
            return state.beta, last
        target = full_tempering(state.beta, state.beta)
        log_w = log_weights(particles, self.kernel, target, state.beta)
        known = np.flatnonzero(np.isfinite(particles.distance[: len(evaluation.influences)]))
        found = calibrated_bandwidth(
            particles.z[known], log_w[known], evaluation.influences[known], state.beta
        )
        beta = float(np.sqrt(found * state.beta))  # half way, as each estimate is noisy
        return beta, dataclasses.replace(last, level=min(1.0, beta / state.beta))

    def _fit(
        self,
        key: Key[Array, ""],
        proposal: Proposal,
        last: AbstractDensity | None,
        particles: Particles,
        log_w: Float[np.ndarray, " K"],
    ) -> tuple[AbstractDensity, dict[str, Any]]:
        z, weights = jnp.asarray(particles.z, float), jnp.asarray(log_w - log_w.max(), float)
        if self.projection == "i" and isinstance(self.family, AbstractModelFamily):
            return reverse_project(key, self.family, z, weights, proposal.density, last)
        return self.family.fit(key, z, weights, last)

    def _discrepancy(self, problem: Problem) -> AbstractDiscrepancy:
        if self.discrepancy is None:
            return choose_discrepancy(problem).discrepancy
        return self.discrepancy

    def _sizes(self, problem: Problem) -> tuple[int, int]:
        """K and M."""
        n_particles, n_draws = self._discrepancy(problem).default_sizes(problem)
        return self.n_particles or n_particles, self.n_draws or n_draws

    def _first_beta(self, problem: Problem) -> float:
        if self.beta is None or isinstance(self.beta, str):
            return self._discrepancy(problem).default_beta(problem.n_obs)
        return self.beta
