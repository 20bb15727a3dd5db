"""Whether the likelihood has a mode that the posterior misses: a search from the prior."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key
from scipy.spatial import KDTree

from pliant._importance import effective_sample_size, normalise
from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level, skipped
from pliant.diagnosis.misfit import embedding_distances
from pliant.problem.samples import as_table
from pliant.problem.sets import observed_draws, simulate_sets
from pliant.problem.space import constrain_all

_PARTICLES = 1000
_SHARE = 0.5  # effective share of the particles that a step of the tempering leaves
_MOST_STEPS = 60
_MOVES = 4  # of each particle after a step
_NEIGHBOURS = 30
_ISLANDS = 20  # parts of the population, which may end in different modes
_OUTSIDE = 0.005  # of the posterior's own draws have a lower density
_MARGIN = 3.0  # nats below that, in each dimension, from which on a place is missed
_USUAL = 0.05  # quantile of the target's density at draws of q that a mode exceeds
_MISSED = 0.02  # share of the particles there that matters
_SIMULATED = 50  # parameters of each place that are compared by simulations
_ALIKE = 0.95  # quantile of the posterior's distances that a place may reach


def check_elsewhere(key: Key[Array, ""], evidence: Evidence) -> list[Finding]:
    """Search for modes by the likelihood, and verify by simulations what is found.

    Particles of the prior follow ``p L^t`` from t = 0 to 1 by reweighting and moves of
    differential evolution, without a simulation. Far from its data, a learned likelihood may be
    wrong. So a place counts only if sets that are simulated there resemble the observed one as
    much as those of the posterior do.
    """
    name = "other modes"
    if evidence.likelihood is None:
        return [skipped(name, "Nothing was learned by which to search for other modes.")]
    search_key, simulate_key = jax.random.split(key)
    found = search(search_key, evidence)
    if found is None:
        return [skipped(name, "The search from the prior did not reach the target.")]
    missed = _are_missed(evidence, found)
    share = float(np.mean(missed))
    if share <= _MISSED or not _resembles(simulate_key, evidence, found.z[missed]):
        text = "A search by the likelihood, from the prior, found no mode that the posterior lacks."
        return [Finding(name, Level.OK, text, "", share, _MISSED)]
    where = _described(evidence, found.z[missed])
    text = f"The likelihood has a mode that the posterior lacks, at about {where}."
    remedy = "Run again with another seed, more particles, or a smaller epsilon."
    return [Finding(name, Level.UNSOUND, text, remedy, share, _MISSED)]


class Cloud(NamedTuple):
    """Particles with their densities."""

    z: Float[np.ndarray, "K dim"]
    log_prior: Float[np.ndarray, " K"]
    log_l: Float[np.ndarray, " K"]


def _are_missed(evidence: Evidence, found: Cloud) -> Bool[np.ndarray, " K"]:
    """Which places the target has as much density at as at draws of q, but q has not."""
    points = jnp.asarray(found.z, float)
    log_q = np.asarray(evidence.posterior.density.log_prob(points), np.float64)
    log_w = evidence.log_weights
    assert log_w is not None
    usual = np.quantile(log_w + evidence.log_q, _USUAL)
    low = np.quantile(evidence.log_q, _OUTSIDE) - _MARGIN * evidence.z.shape[1]
    return ~(log_q >= low) & (found.log_prior + found.log_l >= usual)


def search(key: Key[Array, ""], evidence: Evidence) -> Cloud | None:
    """Places of high density, by tempering from the prior; None if the target is not reached."""
    problem, likelihood = evidence.problem, evidence.likelihood
    assert likelihood is not None
    draws = observed_draws(problem)

    def cloud(z: np.ndarray) -> Cloud:
        points = jnp.asarray(z, float)
        values = likelihood.log_values(problem, draws, points).sum(axis=1, dtype=np.float64)
        log_l = np.nan_to_num(likelihood.power * values, nan=-1e30, neginf=-1e30)
        return Cloud(z, np.asarray(problem.prior.log_prob(points), np.float64), log_l)

    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    now = cloud(np.asarray(problem.prior.sample(key, _PARTICLES), np.float64))
    t = 0.0
    for _ in range(_MOST_STEPS):
        following = _next_exponent(t, now.log_l)
        index = _resampled(rng, (following - t) * now.log_l)
        before, t = now.z, following
        now = Cloud(now.z[index], now.log_prior[index], now.log_l[index])
        neighbours = before[_neighbours(before, now.z)]
        for _ in range(_MOVES):
            now = _moved(rng, now, neighbours, cloud, t)
        if t == 1.0:
            return now
    return None


def _next_exponent(t: float, log_l: np.ndarray) -> float:
    """The largest exponent that leaves enough particles effective."""

    def enough(exponent: float) -> bool:
        return effective_sample_size((exponent - t) * log_l) > _SHARE * len(log_l)

    if enough(1.0):
        return 1.0
    low, high = t, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low if low > t else high


def _resampled(rng: np.random.Generator, log_weights: np.ndarray) -> np.ndarray:
    """Indices of a resampled population, of which each island is resampled by itself.

    In one population, chance would let some mode take the places of all others.
    """
    size = len(log_weights) // _ISLANDS
    indices = []
    for start in range(0, len(log_weights), size):
        weights = normalise(log_weights[start : start + size])
        places = (rng.random() + np.arange(size)) / size
        found = np.searchsorted(np.cumsum(weights), places)
        indices.append(start + np.minimum(found, size - 1))
    return np.concatenate(indices)


def _neighbours(
    before: Float[np.ndarray, "K dim"], z: Float[np.ndarray, "K dim"]
) -> Int[np.ndarray, "K n"]:
    """Those in the population before it was resampled, which has no copies."""
    spread = before.std(axis=0)
    return np.asarray(KDTree(before / spread).query(z / spread, k=_NEIGHBOURS)[1])


def _moved(
    rng: np.random.Generator,
    now: Cloud,
    neighbours: Float[np.ndarray, "K n dim"],
    cloud: Callable[[np.ndarray], Cloud],
    t: float,
) -> Cloud:
    """A Metropolis step: each particle moves along the difference of two of its neighbours.

    They have the scale and the directions of the particle's own mode. (As neighbours depend on
    the place, the step is not quite reversible. For a search, that is no harm.)
    """
    n, dim = now.z.shape
    a, b = (neighbours[np.arange(n), rng.integers(_NEIGHBOURS, size=n)] for _ in range(2))
    factor = 2.38 / np.sqrt(2 * dim) * rng.choice([0.3, 1.0, 2.0], size=n)
    proposed = cloud(now.z + factor[:, None] * (a - b))
    gain = proposed.log_prior - now.log_prior + t * (proposed.log_l - now.log_l)
    accepted = np.log(rng.random(n)) < gain
    return Cloud(
        np.where(accepted[:, None], proposed.z, now.z),
        np.where(accepted, proposed.log_prior, now.log_prior),
        np.where(accepted, proposed.log_l, now.log_l),
    )


def _resembles(key: Key[Array, ""], evidence: Evidence, z: Float[np.ndarray, "n dim"]) -> bool:
    """Whether sets of a place resemble the observed one as much as the posterior's do."""
    problem = evidence.problem
    n = min(_SIMULATED, len(z), evidence.n_sets)
    there = simulate_sets(key, problem, jnp.asarray(z[:n], float), problem.n_obs)
    here = jax.tree.map(lambda array: array[:n], evidence.sets)
    near, far = (embedding_distances(problem, sets) for sets in (here, there))
    return bool(np.median(far) <= np.quantile(near, _ALIKE))


def _described(evidence: Evidence, z: Float[np.ndarray, "n dim"]) -> str:
    """One of the parameters that were found."""
    space = evidence.problem.prior.space
    names, values = as_table(constrain_all(space, jnp.asarray(z[:1], float)), space.names)
    return ", ".join(f"{name} = {x:.3g}" for name, x in zip(names, values[0], strict=True))
