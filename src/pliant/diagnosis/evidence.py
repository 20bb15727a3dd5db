"""What the checks look at: draws of the posterior, sets that they simulate, and likelihoods."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._importance import smooth_weights
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem.points import observed_points, points
from pliant.problem.problem import Problem
from pliant.problem.samples import as_table
from pliant.problem.sets import Draws, observed_draws, simulate_sets
from pliant.problem.space import constrain_all
from pliant.run.posterior import Posterior

_PARAMETERS = 2000  # draws of the posterior
_SETS = 200  # that are simulated, each with another of these draws
_CANDIDATES = 100, 500, 2000  # per dimension, at least, at most: weighted by a simulated set
_EFFECTIVE = 60  # candidates that the likelihood of a simulated set should leave
_PAIRS = 4e7  # of candidate and simulated draw, evaluated at most
_FEWEST_SETS, _FEWEST_CANDIDATES = 100, 300
_PARTS = 10  # in which a simulator outside JAX makes the sets
_SCALED = 20_000  # simulated draws that tell the scale of points
_BLOCK = 2**12  # simulated draws that are evaluated at a time


class Evidence(eqx.Module):
    """Draws of the posterior, sets that some of them simulate, and what a likelihood says of both.

    K draws of the posterior. The first R of them simulate a set of N draws each, under the
    observations' own conditions. The first C are candidates for having simulated each set.
    """

    problem: Problem
    posterior: Posterior
    likelihood: AbstractLikelihood | None
    names: tuple[str, ...] = eqx.field(static=True)
    """The columns of ``theta``."""
    z: Float[np.ndarray, "K dim"]
    theta: Float[np.ndarray, "K columns"]
    """The same in the user's units."""
    log_prior: Float[np.ndarray, " K"]
    """Of z."""
    log_q: Float[np.ndarray, " K"]
    sets: Draws
    """``(R, N, *event)``."""
    log_observed: Float[np.ndarray, "K N"] | None = None
    """``log p(x_i | theta_k)`` of the observations; None without a likelihood."""
    log_own: Float[np.ndarray, "R N"] | None = None
    """The same of simulated draws, given the parameter that simulated them."""
    log_sets: Float[np.ndarray, "C R"] | None = None
    """The log-likelihood of f N draws of each simulated set at each candidate."""
    share: float = 1.0
    """f."""

    @property
    def n_sets(self) -> int:
        """R, the number of simulated sets."""
        return len(self.sets.ok)

    @property
    def log_weights(self) -> Float[np.ndarray, " K"] | None:
        """Log-weights ``p L / q`` that turn draws of q into draws of its target."""
        if self.likelihood is None or self.log_observed is None:
            return None
        log_l = self.likelihood.power * self.log_observed.sum(axis=1, dtype=np.float64)
        return self.log_prior + log_l - self.log_q

    @property
    def observed(self) -> Float[np.ndarray, "N d"]:
        """The observations as rows; NaN for what was not measured."""
        return _rows(observed_draws(self.problem), len(self.problem.event_shape))

    @property
    def simulated(self) -> Float[np.ndarray, "R N d"]:
        """The simulated sets as rows; NaN for what is missing or failed."""
        rows = _rows(self.sets, len(self.problem.event_shape))
        return np.where(np.asarray(self.sets.ok)[..., None], rows, np.nan)

    def weighted(
        self, log_weights: Float[np.ndarray, " K"]
    ) -> tuple[Float[np.ndarray, " K"], float]:
        """Smoothed weights that add up to one, and k-hat."""
        smoothed, k_hat = smooth_weights(log_weights)
        weights = np.exp(smoothed - smoothed.max())
        return weights / weights.sum(), k_hat


def gather(
    key: Key[Array, ""],
    problem: Problem,
    posterior: Posterior,
    likelihood: AbstractLikelihood | None,
    advance: Any = lambda text: None,
) -> Evidence:
    """Draw, simulate and evaluate.

    Args:
        key: For the draws and the simulations.
        problem: The problem.
        posterior: What is in question.
        likelihood: What the run has learned, if anything.
        advance: Called with what is being done.
    """
    draw_key, simulate_key = jax.random.split(key)
    z = posterior.density.sample(draw_key, _PARAMETERS)
    n_sets, n_candidates = _sizes(problem)
    sets = _simulate(simulate_key, problem, z[:n_sets], advance)
    names, theta = as_table(constrain_all(problem.prior.space, z), problem.prior.space.names)
    evidence = Evidence(
        problem=problem,
        posterior=posterior,
        likelihood=likelihood,
        names=tuple(names),
        z=np.asarray(z, np.float64),
        theta=theta,
        log_prior=np.asarray(problem.prior.log_prob(z), np.float64),
        log_q=np.asarray(posterior.density.log_prob(z), np.float64),
        sets=sets,
    )
    if likelihood is None:
        return evidence
    advance("evaluating the observations")
    log_observed = likelihood.log_values(problem, observed_draws(problem), z)
    n_used = _used(problem, n_candidates)
    options = likelihood, problem, sets, z[:n_candidates], n_used
    log_own, log_sets = _evaluate_sets(*options, advance)
    return dataclasses.replace(
        evidence,
        log_observed=log_observed,
        log_own=log_own,
        log_sets=log_sets,
        share=n_used / problem.n_obs,
    )


def _simulate(
    key: Key[Array, ""], problem: Problem, z: Float[Array, "R dim"], advance: Any
) -> Draws:
    """A set of N draws with each parameter; a slow simulator tells how far it is."""
    size = len(z) if problem.simulator.compiled else -(-len(z) // _PARTS)
    parts = []
    for start in range(0, len(z), size):
        told = f": {start} done" if start else ""
        advance(f"simulating {len(z)} sets of {problem.n_obs:,}{told}")
        some = z[start : start + size]
        sets = simulate_sets(jax.random.fold_in(key, start), problem, some, problem.n_obs)
        parts.append(jax.tree.map(np.asarray, sets))
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)


def _sizes(problem: Problem) -> tuple[int, int]:
    """R and C."""
    each, least, most = _CANDIDATES
    candidates = int(np.clip(each * problem.prior.dim, least, most))
    excess = max(1.0, _SETS * candidates * problem.n_obs / _PAIRS) ** 0.5
    sets = max(_FEWEST_SETS, int(_SETS / excess))
    return sets, max(_FEWEST_CANDIDATES, sets, int(candidates / excess))


def _used(problem: Problem, n_candidates: int) -> int:
    """How many draws of a simulated set are ranked by: as many as leave candidates effective.

    The likelihood of f N draws leaves, of draws of a Gaussian posterior that data determine, about
    ``sqrt(1 + 2 f) / (1 + f) exp(-f / (1 + 2 f))`` in each dimension.
    """
    f = np.linspace(0.02, 1.0, 50)
    each = np.sqrt(1 + 2 * f) / (1 + f) * np.exp(-f / (1 + 2 * f))
    effective = n_candidates * each**problem.prior.dim
    wanted = f[np.flatnonzero(effective >= min(_EFFECTIVE, effective[0]))[-1]]
    return max(1, round(float(wanted) * problem.n_obs))


def _evaluate_sets(
    likelihood: AbstractLikelihood,
    problem: Problem,
    sets: Draws,
    z: Float[Array, "C dim"],
    n_used: int,
    advance: Any,
) -> tuple[Float[np.ndarray, "R N"], Float[np.ndarray, "C R"]]:
    """The log-likelihoods of draws at their own parameters, and of sets at all candidates.

    A failed draw counts as the mean of the others of its set. Some draws are used of each set, at
    random, since draws of other conditions stand in other places.
    """
    n_sets, n_obs = sets.ok.shape
    used = np.random.default_rng(0).permutation(n_obs)[:n_used]
    size = max(1, min(n_sets, _BLOCK // n_obs))
    own, totals = [], []
    for start in range(0, n_sets, size):
        advance(f"evaluating simulated sets: {start} of {n_sets}")
        index = np.minimum(np.arange(start, start + size), n_sets - 1)  # padded to one size
        some = jax.tree.map(lambda a, i=index: jnp.asarray(a)[i].reshape(-1, *a.shape[2:]), sets)
        values = likelihood.log_values(problem, some, z).reshape(len(z), size, n_obs)
        ok = np.asarray(sets.ok)[index]
        values = np.where(ok[None], values, np.nan)
        kept = min(size, n_sets - start)
        own.append(values[index, np.arange(size)][:kept])
        usable = np.maximum(ok[:, used].sum(axis=1), 1)
        sums = np.nansum(values[:, :, used], axis=2, dtype=np.float64) * (n_used / usable)[None]
        totals.append(sums[:, :kept])
    return np.concatenate(own), np.concatenate(totals, axis=1)


def scaled_points(
    problem: Problem, sets: Draws
) -> tuple[Float[np.ndarray, "N p"], Float[np.ndarray, "R N p"]]:
    """Observations and simulated draws with their conditions and gaps, at one robust scale."""
    observed = np.asarray(observed_points(problem), np.float64).reshape(problem.n_obs, -1)
    ok = np.asarray(sets.ok)
    rows = np.asarray(points(problem, sets.x, sets.under, sets.seen), np.float64)
    rows = rows.reshape(*ok.shape, -1)
    pooled = np.concatenate([observed, rows[ok][:_SCALED]])
    low, middle, high = np.quantile(pooled, [0.16, 0.5, 0.84], axis=0)
    spread = (high - low) / 2
    spread = np.where(spread > 0, spread, np.maximum(pooled.std(axis=0), 1e-30))
    return (observed - middle) / spread, (rows - middle) / spread


def _rows(draws: Draws, event_axes: int) -> Float[np.ndarray, "*lead d"]:
    """Draws as rows of numbers; NaN where nothing was measured."""
    x = np.asarray(draws.x, np.float64)
    x = x if draws.seen is None else np.where(np.asarray(draws.seen), x, np.nan)
    return x.reshape(*x.shape[: x.ndim - event_axes], -1)
