"""Discrepancies that are measured: simulate a set with each parameter and compare it.

Sets are simulated in chunks that bound the memory. A distance depends on its own set alone, so
the chunk size changes neither the result nor its history.
"""

import abc
import dataclasses
import math
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from pliant._devices import share_out
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    BudgetedSizes,
    Evaluation,
    Mask,
    Proposal,
    RoundOptions,
    Sets,
    distance_columns,
)
from pliant.problem.points import observed_points, points, with_extras
from pliant.problem.problem import Problem
from pliant.problem.scale import feature_divisors, pilot_simulations
from pliant.problem.sets import Chunk, Draws, check_chunks, chunks_of, simulate_chunks

Distances = tuple[Float[Array, " K"], dict[str, Array]]

_PARTICLES = 5000  # in a round, unless a budget allows fewer
_FEWEST_DRAWS = 5  # within a budget
_MANY = 1000  # particles, from which on more draws of each tell more
_REUSE_UP_TO = 5  # parameters: in more dimensions, fresh noise is worth more than old draws
_SPLIT = 512  # particles whose draws are split in halves to estimate the noise
_INFLUENCED = 2048  # particles whose influences are computed


class AbstractMeasuredDiscrepancy(AbstractDiscrepancy):
    """A distance D between the observed set and simulated sets of any size.

    A subclass implements ``prepare``, which computes once what depends on the observations alone,
    and ``measure``.
    """

    is_noisy: ClassVar[bool] = True

    scale: eqx.AbstractVar[Float[Array, " d"] | None]
    """Divisors for the features of the flattened event; None compares raw values."""
    min_draws: ClassVar[int]
    """The fewest usable draws from which a distance can be estimated."""

    @abc.abstractmethod
    def prepare(self, observed: Float[Array, "N *event"]) -> Any:
        """Compute, once, everything that depends on the observations alone."""

    @abc.abstractmethod
    def measure(self, prepared: Any, x: Sets, ok: Mask) -> Distances:
        """Distances of ``K`` simulated sets to the observed set.

        Args:
            prepared: What ``prepare`` returned.
            x: Simulated sets of ``M`` draws.
            ok: Which draws are usable; the others are ignored.

        Returns:
            The distances, infinite where fewer than ``min_draws`` draws are usable; and arrays
            ``(K,)`` by name whose sums over a round stand in its history.
        """

    @property
    def columns(self) -> dict[str, float]:
        """Numbers for every round's row of the history."""
        return {}

    def for_sizes(self, n_draws: int, n_obs: int) -> "AbstractMeasuredDiscrepancy":
        """What compares sets of these sizes: itself, or something cheaper in its place."""
        return self

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """The numbers that ``measure`` holds for each draw of one set, at most.

        Those of Pliant's discrepancies are the measured sizes of XLA's temporary arrays.
        """
        return 2 * n_features

    def with_scale(self, scale: Any) -> "AbstractMeasuredDiscrepancy":
        """The same discrepancy with other divisors."""
        return dataclasses.replace(self, scale=scale)  # pyright: ignore[reportCallIssue]

    def default_beta(self, n_obs: int) -> float:
        """``0.05 / N``, which gives the exact width on the Gaussian location task for every N."""
        return 0.05 / n_obs

    def default_sizes(self, problem: Problem) -> tuple[int, int]:
        """5000 particles; fewer than 100 draws make distances too noisy.

        Where observations have conditions of their own, all are simulated equally often.
        """
        n_obs = problem.n_obs
        return _PARTICLES, max(n_obs, 100) if problem.is_uniform else n_obs * -(-100 // n_obs)

    def budgeted_sizes(self, problem: Problem, rounds: int, max_simulations: int) -> BudgetedSizes:
        """Few rounds with as many draws as the budget allows, all of them reused.

        A trust region of about a nat per round needs about ``5 + 1.5 dim`` rounds. Each of them
        gets the same share: at least 20 particles, and 8 for each dimension, with up to N / 2 (or
        50) draws, and more only where there are a thousand particles.
        """
        dim, n_obs = problem.prior.dim, problem.n_obs
        rounds = min(rounds, 5 + math.ceil(1.5 * dim))
        share = max_simulations // rounds
        most = min(max(n_obs, 100), max(n_obs // 2, 50, share // _MANY))
        n_draws = max(_FEWEST_DRAWS, self.min_draws, min(most, share // max(20, 8 * dim)))
        return BudgetedSizes(rounds, n_draws, reuse=rounds - 1 if dim <= _REUSE_UP_TO else 0)

    def simulations_before(self, problem: Problem) -> int:
        """Those of the pilot that fixes the features' scale."""
        return pilot_simulations(problem)

    def check_memory(
        self, problem: Problem, n_particles: int, n_draws: int, chunk_size: int | None
    ) -> None:
        """Raise a ``ValueError`` if one set and its comparison cannot fit into memory."""
        n_obs, n_features = problem.n_obs, max(1, math.prod(problem.event_shape)) + problem.extras
        numbers = self.for_sizes(n_draws, n_obs).numbers_per_draw(n_features, n_obs)
        options = {"chunk_size": chunk_size, "numbers_per_draw": numbers}
        check_chunks(problem, n_particles, n_draws, **options)

    def init(
        self, key: Key[Array, ""], problem: Problem, n_draws: int
    ) -> tuple["MeasuredState", int]:
        """Fix the features' scale and prepare what depends on the observations alone.

        Raises:
            ValueError: If a distance cannot be estimated from ``n_draws`` draws.
        """
        if n_draws < self.min_draws:
            raise ValueError(
                f"n_draws: {type(self).__name__} needs at least {self.min_draws} draws for each "
                f"parameter, got {n_draws}. Draw more, or use pliant.Euclidean() to compare "
                "single draws."
            )
        scale, simulations = self.scale, 0
        if scale is None:
            scale, simulations = feature_divisors(key, problem)
        scale = with_extras(problem, None if scale is None else np.asarray(scale))
        discrepancy = self if scale is None else self.with_scale(scale)
        discrepancy = discrepancy.for_sizes(n_draws, problem.n_obs)
        prepared = discrepancy.prepare(observed_points(problem))
        return MeasuredState(discrepancy, prepared), simulations

    def evaluate(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: "MeasuredState",
        proposal: Proposal,
        z: Float[Array, "K dim"],
        options: RoundOptions,
    ) -> Evaluation:
        """Simulate a set with each parameter and measure its distance to the observed set."""
        measurement = measure_parameters(key, problem, state, z, options)
        return Evaluation(
            particles=proposal.particles(problem, z, measurement.distance),
            state=state,
            simulations=len(z) * options.n_draws,
            row=measurement.row,
            influences=measurement.influences,
            log_partition=measurement.log_partition,
        )


class AbstractWeighableDiscrepancy(AbstractMeasuredDiscrepancy):
    """A distance that is also defined if observations have unequal weights."""

    has_influences: ClassVar[bool] = True

    @abc.abstractmethod
    def influences(self, prepared: Any, x: Sets, ok: Mask) -> Float[Array, "K N"]:
        """``dD / dw_i``: how each distance changes with the weight of each observation.

        A constant of an observation, the same for all sets, may be missing.
        """


class MeasuredState(eqx.Module):
    """A discrepancy that is ready to compare sets with the observed one."""

    discrepancy: AbstractMeasuredDiscrepancy
    """With the features' scale, for the sizes of the sets."""
    prepared: PyTree
    """What its ``prepare`` returned."""


class Measurement(NamedTuple):
    """Distances of a round's parameters."""

    distance: Float[np.ndarray, " K"]
    log_partition: Float[np.ndarray, " S"]
    """Of the first parameters, if it was wanted."""
    influences: Float[np.ndarray, "I N"]
    """Of the first parameters, if they were wanted."""
    row: dict[str, float | int]
    """Columns of the round's row in the history."""


def measure_parameters(
    key: Key[Array, ""],
    problem: Problem,
    state: MeasuredState,
    z: Float[Array, "K dim"],
    options: RoundOptions,
    *,
    with_noise: bool = True,
) -> Measurement:
    """Draw M observations for each parameter and compare each set with the observed one.

    Args:
        key: For the simulations.
        problem: With the simulator.
        state: What compares the sets.
        z: Parameters.
        options: The number of draws, and what else is wanted.
        with_noise: Whether the noise of the distances is estimated.
    """
    key = jax.random.fold_in(key, 0)
    chunks = simulate_chunks(key, problem, z, options.n_draws, chunk_size=options.chunk_size)
    return _measure_chunks(problem, state, chunks, options, with_noise=with_noise)


def measure_sets(
    problem: Problem, state: MeasuredState, draws: Draws, options: RoundOptions
) -> Measurement:
    """Compare sets that have been simulated already with the observed one."""
    size = check_chunks(problem, len(draws.ok), options.n_draws, chunk_size=options.chunk_size)
    chunks = chunks_of(draws, size)
    return _measure_chunks(problem, state, chunks, options, with_noise=True)


def _measure_chunks(
    problem: Problem,
    state: MeasuredState,
    chunks: Iterable[Chunk],
    options: RoundOptions,
    *,
    with_noise: bool,
) -> Measurement:
    parts = [_measure_chunk(problem, state, chunk, options, with_noise) for chunk in chunks]
    whole: _Part = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    noise = _squared_errors(
        whole.distance[: len(whole.first_half)], whole.first_half, whole.second_half
    )
    usable = float(whole.usable.sum() / (len(whole.usable) * options.n_draws))
    row = distance_columns(whole.distance, noise, usable)
    if np.any(np.isfinite(whole.distance)):
        row |= state.discrepancy.columns
    row |= {name: int(values.sum()) for name, values in whole.counts.items()}
    return Measurement(whole.distance, whole.log_partition, whole.influences, row)


class _Part(NamedTuple):
    """What is known of a chunk of C parameters."""

    distance: Float[np.ndarray, " C"]
    usable: Int[np.ndarray, " C"]
    """The number of usable draws."""
    first_half: Float[np.ndarray, " S"]
    """Distances of the first half of the draws, for the first parameters of the round."""
    second_half: Float[np.ndarray, " S"]
    log_partition: Float[np.ndarray, " P"]
    influences: Float[np.ndarray, "I N"]
    counts: dict[str, np.ndarray]


def _measure_chunk(
    problem: Problem, state: MeasuredState, chunk: Chunk, options: RoundOptions, with_noise: bool
) -> _Part:
    start, n, (x, ok, under, seen) = chunk
    x, ok = points(problem, x, under, seen), jnp.asarray(ok)
    discrepancy, half = state.discrepancy, options.n_draws // 2
    distance, counts = _measure(state, x, ok)
    first, second, influences = np.zeros(0), np.zeros(0), np.zeros((0, problem.n_obs))
    log_partition = np.zeros(0)
    split = min(n, _SPLIT - start)
    if with_noise and split > 0 and half >= max(1, discrepancy.min_draws):
        first, _ = _measure(state, x[:split, :half], ok[:split, :half])
        second, _ = _measure(state, x[:split, half : 2 * half], ok[:split, half : 2 * half])
    some = min(n, _INFLUENCED - start) if options.influences else 0
    if some > 0 and isinstance(discrepancy, AbstractWeighableDiscrepancy):
        influences = discrepancy.influences(state.prepared, x[:some], ok[:some])
    if options.partition is not None:
        most = options.partition.n_particles
        some = n if most is None else min(n, most - start)
        if some > 0:
            log_partition = options.partition.log_values(x[:some], ok[:some])
    return _Part(
        distance=np.asarray(distance, np.float64)[:n],
        usable=np.asarray(ok)[:n].sum(axis=1),
        first_half=np.asarray(first, np.float64),
        second_half=np.asarray(second, np.float64),
        log_partition=log_partition,
        influences=np.asarray(influences, np.float64),
        counts={name: np.asarray(values)[:n] for name, values in counts.items()},
    )


@eqx.filter_jit
def _measure(state: MeasuredState, x: Sets, ok: Mask) -> Distances:
    arrays, rest = eqx.partition(state, eqx.is_array)

    def measure(sets: PyTree, common: PyTree) -> PyTree:
        state: MeasuredState = eqx.combine(common, rest)
        return state.discrepancy.measure(state.prepared, *sets)

    return share_out(measure, (x, ok), arrays)


def _squared_errors(
    whole: Float[np.ndarray, " S"], a: Float[np.ndarray, " S"], b: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " finite"]:
    """Squared standard errors of the distances ``whole`` of sets whose halves have a and b.

    A distance from M draws has a variance ``u / M + v / M^2``. Then ``(a - b)^2 / 4`` has the mean
    ``u / M + 2 v / M^2``, and the mismatch of the whole with the halves' average has the
    variance ``v / M^2`` (about its mean, as some discrepancies are biased). The difference of the
    two is unbiased, but noisy and at times negative. Distances that are not finite are left out.
    """
    known = np.isfinite(a) & np.isfinite(b) & np.isfinite(whole)
    a, b, whole = a[known], b[known], whole[known]
    if not whole.size:
        return whole
    mismatch = whole - (a + b) / 2
    return (a - b) ** 2 / 4 - (mismatch - mismatch.mean()) ** 2
