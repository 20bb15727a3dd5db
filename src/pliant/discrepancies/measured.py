"""Simulate sets for a round's parameters and measure them, in chunks that bound the memory."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from pliant._devices import share_out
from pliant.densities.base import AbstractDensity
from pliant.discrepancies.base import AbstractDiscrepancy, AbstractWeighableDiscrepancy
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy
from pliant.discrepancies.particles import Particles
from pliant.problem.problem import Problem
from pliant.problem.sets import simulate_chunks, simulate_sets
from pliant.weighting.partition import PreparedPartition

_SPLIT_PARAMETERS = 512  # parameters whose draws are split in halves to see the noise
_INFLUENCED_PARAMETERS = 2048  # parameters whose distances are asked for their influences


class Measurement(eqx.Module):
    """Distances of a round's parameters, and what is known of their quality."""

    distance: Float[np.ndarray, " K"]
    log_partition: Float[np.ndarray, " K"]
    noise: Float[np.ndarray, " S"]
    """Squared standard errors of the first S distances, from split halves of their draws; single
    ones are rough and can be negative, their mean is not."""
    influences: Float[np.ndarray, "I N"]
    """How distances of the first S parameters change with the observations' weights, if asked."""
    usable: float
    """The share of draws that could be used."""
    info: dict[str, float]
    """Numbers for the round's row."""


def measure_parameters(
    key: Key[Array, ""],
    problem: Problem,
    discrepancy: AbstractDiscrepancy,
    state: Any,
    z: Float[Array, "K dim"],
    n_draws: int,
    *,
    partition: PreparedPartition | None = None,
    chunk_size: int | None = None,
    with_noise: bool = True,
    with_influences: bool = False,
) -> tuple[Measurement, Any]:
    """Draw ``n_draws`` observations for each parameter and compare each set with the observed one.

    A distance depends on its own set alone, so that ``chunk_size`` changes the memory that is
    used and nothing else. Without ``with_noise`` no draws are split to see their noise;
    ``with_influences`` asks for those of the observations, of a discrepancy that has them.

    Returns:
        The measurement, and the discrepancy's state.
    """
    measure_key = jax.random.fold_in(key, 1)
    distance, log_partition, noise, influences, usable = [], [], [], [], 0.0
    sets = simulate_chunks(jax.random.fold_in(key, 0), problem, z, n_draws, chunk_size=chunk_size)
    for start, count, thetas, x, ok in sets:
        d, state = _measure(discrepancy, measure_key, state, thetas, x, ok)
        distance.append(np.asarray(d, np.float64)[:count])
        usable += float(np.sum(np.asarray(ok)[:count]))
        if partition is not None:
            log_z = partition.log_values(measure_key, thetas, x, ok)
            log_partition.append(log_z[:count])
        split = min(count, _SPLIT_PARAMETERS - start) if with_noise else 0
        if split > 0 and n_draws >= 2 * discrepancy.min_draws and n_draws > 1:
            some = jax.tree.map(lambda leaf, m=split: leaf[:m], thetas)
            halves = _measure_halves(discrepancy, measure_key, state, some, x[:split], ok[:split])
            noise.append(_squared_error(distance[-1][:split], *halves))
        some = min(count, _INFLUENCED_PARAMETERS - start) if with_influences else 0
        if some > 0 and isinstance(discrepancy, AbstractWeighableDiscrepancy):
            found = discrepancy.influences(state, x[:some], ok[:some])
            influences.append(np.asarray(found, np.float64))
    return (
        Measurement(
            distance=np.concatenate(distance),
            log_partition=np.concatenate(log_partition) if log_partition else np.zeros(len(z)),
            noise=np.concatenate(noise) if noise else np.zeros(0),
            influences=np.concatenate(influences) if influences else np.zeros((0, problem.n_obs)),
            usable=usable / (len(z) * n_draws),
            info=discrepancy.info,
        ),
        state,
    )


def learn_and_measure(
    key: Key[Array, ""],
    problem: Problem,
    discrepancy: AbstractLearnedDiscrepancy,
    state: Any,
    proposal: AbstractDensity,
    z: Float[Array, "K dim"],
    n_draws: int,
    *,
    wide: AbstractDensity | None = None,
) -> tuple[Float[Array, "L dim"], Measurement, Any]:
    """Learn from simulations with ``z``, and measure new draws of the proposal without any.

    Where there is a wider density, the discrepancy's ``defensive_share`` of the parameters to
    simulate is drawn from that.

    Returns:
        The new draws, their distances (which have no noise; infinite if no simulation was
        usable), and the discrepancy's state.
    """
    simulate_key, learn_key, sample_key, wide_key = jax.random.split(key, 4)
    if wide is not None and discrepancy.defensive_share is not None:
        z = _partly_from(wide_key, wide, discrepancy.defensive_share, z)
    x, ok = simulate_sets(simulate_key, problem, z, n_draws)
    more = proposal.sample(sample_key, discrepancy.n_evaluated)
    if not np.any(ok):
        return more, _without_noise(np.full(len(more), np.inf), usable=0.0, info={}), state
    state, learned = discrepancy.learn(learn_key, problem, state, z, x, ok)
    distance, seen = discrepancy.distances(problem, state, more)
    info = learned | seen
    return more, _without_noise(distance, usable=float(np.mean(ok)), info=info), state


def _partly_from(
    key: Key[Array, ""], wide: AbstractDensity, share: float, z: Float[Array, "K dim"]
) -> Float[Array, "K dim"]:
    """Parameters of which a share, evenly spread among them, is drawn from another density."""
    is_wide = (np.arange(len(z)) * share) % 1 >= 1 - share
    return jnp.where(is_wide[:, None], wide.sample(key, len(z)), z)


def measure_without_simulating(
    problem: Problem,
    discrepancy: AbstractLearnedDiscrepancy,
    state: Any,
    z: Float[Array, "K dim"],
) -> Measurement:
    """Distances by what has been learned so far."""
    distance, info = discrepancy.distances(problem, state, z)
    return _without_noise(distance, usable=1.0, info=info)


def _without_noise(
    distance: Float[np.ndarray, " K"], *, usable: float, info: dict[str, float]
) -> Measurement:
    return Measurement(
        distance=np.asarray(distance, np.float64),
        log_partition=np.zeros(len(distance)),
        noise=np.zeros(0),
        influences=np.zeros((0, 0)),
        usable=usable,
        info=info,
    )


def measured_particles(
    problem: Problem,
    proposal: AbstractDensity,
    z: Float[Array, "K dim"],
    measurement: Measurement,
) -> Particles:
    """Draws of a proposal with their distances and densities."""
    return Particles(
        z=np.asarray(z, np.float64),
        log_prior=np.asarray(problem.prior.log_prob(z), np.float64),
        log_q=np.asarray(proposal.log_prob(z), np.float64),
        distance=measurement.distance,
        log_partition=measurement.log_partition,
    )


def distance_row(measurement: Measurement) -> dict[str, float | int]:
    """The columns of a round's row that its distances fill, as ``History`` describes them."""
    usable = measurement.distance[np.isfinite(measurement.distance)]
    if not usable.size:
        return {"usable": measurement.usable}
    variance = float(np.var(usable))
    noise = max(float(np.mean(measurement.noise)), 0.0) if measurement.noise.size else float("nan")
    return {
        "distance_min": float(usable.min()),
        "distance_median": float(np.median(usable)),
        "distance_se": noise**0.5,
        "noise_share": noise / variance if variance > 0 else float("inf"),
        "usable": measurement.usable,
        **measurement.info,
    }


@eqx.filter_jit
def _measure(
    discrepancy: AbstractDiscrepancy,
    key: Key[Array, ""],
    state: Any,
    thetas: PyTree,
    x: Float[Array, "K M *event"],
    ok: Bool[Array, "K M"],
) -> tuple[Float[Array, " K"], Any]:
    arrays, rest = eqx.partition((discrepancy, key, state), eqx.is_array)

    def measure(sets: PyTree, common: PyTree) -> tuple[Array, Any]:
        discrepancy, key, state = eqx.combine(common, rest)
        distances, state = discrepancy.measure(key, state, *sets)
        return distances, eqx.filter(state, eqx.is_array)

    distances, new = share_out(measure, (thetas, x, ok), arrays)
    return distances, eqx.combine(new, eqx.filter(state, eqx.is_array, inverse=True))


def _measure_halves(
    discrepancy: AbstractDiscrepancy,
    key: Key[Array, ""],
    state: Any,
    thetas: Any,
    x: Float[Array, "S M *event"],
    ok: Bool[Array, "S M"],
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    half = x.shape[1] // 2
    a, _ = _measure(discrepancy, key, state, thetas, x[:, :half], ok[:, :half])
    b, _ = _measure(discrepancy, key, state, thetas, x[:, half : 2 * half], ok[:, half : 2 * half])
    return np.asarray(a, np.float64), np.asarray(b, np.float64)


def _squared_error(
    whole: Float[np.ndarray, " S"], a: Float[np.ndarray, " S"], b: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " finite"]:
    """Squared standard errors of the distances ``whole`` of sets whose halves have a and b.

    A distance from M draws has a variance ``u / M + v / M^2``. Then ``(a - b)^2 / 4`` has the mean
    ``u / M + 2 v / M^2``, and the mismatch of the whole with the halves' average has the
    variance ``v / M^2`` (about its mean, as some discrepancies are biased): so the
    difference of the two is unbiased, if noisy and at times negative.
    """
    known = np.isfinite(a) & np.isfinite(b) & np.isfinite(whole)
    a, b, whole = a[known], b[known], whole[known]
    if not whole.size:
        return whole
    mismatch = whole - (a + b) / 2
    return (a - b) ** 2 / 4 - (mismatch - mismatch.mean()) ** 2
