"""The sequence of SMC samplers for ABC: shrink the bandwidth, reweigh, resample, move."""

import abc
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_real
from pliant._importance import effective_sample_size
from pliant.discrepancies.measured import Measurement
from pliant.methods.abc.population import Population, resampled
from pliant.methods.abc.sampler import (
    ABCState,
    AbstractABC,
    population_row,
    sequence_shortfall,
    tolerance_reached,
    too_few_accepted,
)
from pliant.methods.base import FEWEST_PARTICLES, Outcome, Rows, nothing_usable
from pliant.problem.problem import Problem
from pliant.weighting.kernels import AbstractKernel

_NARROWEST = 1e-9  # of the largest distance: a smooth kernel never gets narrower
_HALVINGS = 64


class Moved(NamedTuple):
    """A population after the move of a round."""

    population: Population
    acceptance: float
    """The share of living particles that moved."""
    measurement: Measurement
    simulations: int
    row: dict[str, float | int]
    """Columns that this kind of move adds."""


class AbstractSMC(AbstractABC):
    """An SMC sampler (Algorithm 2 of the paper) with any kind of move.

    Particles carry the distance of the set that they were accepted with, as in Del Moral et al.
    (2012): the target of a round is ``p(theta) f(x | theta) k(D(observed, x), h_t)`` over pairs of
    a parameter and a set, and a move that leaves it as it is needs no other weights than
    ``k(D, h_t) / k(D, h_{t-1})``. Simulating again for the weights, as the paper's listing
    does, would leave this target.
    """

    alpha: eqx.AbstractVar[float]
    resample_below: eqx.AbstractVar[float]
    tolerance: eqx.AbstractVar[float | None]
    min_acceptance: eqx.AbstractVar[float]

    def __check_init__(self):
        check_real("alpha", self.alpha, above=0, below=1)
        check_real("resample_below", self.resample_below, above=0)
        if self.tolerance is not None:
            check_real("tolerance", self.tolerance, above=0)
        check_real("min_acceptance", self.min_acceptance, above=0, below=1)

    @property
    @abc.abstractmethod
    def weight_kernel(self) -> AbstractKernel:
        """What turns a distance into a pseudo-likelihood."""

    @property
    def n_kept(self) -> int:
        """``n_particles``."""
        return self.n_particles

    @abc.abstractmethod
    def move(
        self, key: Key[Array, ""], problem: Problem, state: ABCState, population: Population
    ) -> Moved:
        """A step from every particle that leaves the target at its bandwidth as it is."""

    @abc.abstractmethod
    def remedy(self, row: dict[str, float | int]) -> str:
        """What to do when too few particles move."""

    def step(self, key: Key[Array, ""], problem: Problem, state: ABCState) -> Outcome:
        """The first round draws from the prior; the others resample and move."""
        if state.population is None:
            return self._first(key, problem, state)
        resample_key, move_key = jax.random.split(key)
        population = self._shrunk(state.population)
        if population.ess < self.resample_below * self.n_particles:
            population = resampled(resample_key, population)
        moved = self.move(move_key, problem, state, population)
        state = dataclasses.replace(state, population=moved.population)
        row = population_row(moved.population, moved.acceptance) | moved.row
        row |= moved.measurement.row
        stop = None
        if self._is_down(population):
            stop = tolerance_reached(population.bandwidth)
        elif moved.acceptance < self.min_acceptance:
            stop = too_few_accepted(moved.acceptance, self.min_acceptance, self.remedy(row))
        return Outcome(state, row, moved.simulations, stop)

    def shortfall(self, problem: Problem, state: ABCState, rows: Rows) -> str:
        """How far the bandwidth is from its tolerance, or whether it was still falling."""
        lowest = None if self.weight_kernel.signed else 0.0
        return sequence_shortfall(rows, state.population, self.tolerance, lowest=lowest)

    def _first(self, key: Key[Array, ""], problem: Problem, state: ABCState) -> Outcome:
        population, measurement = self.prior_population(key, problem, state)
        cost = self.n_particles * self.draws(problem)
        n_usable = int(population.alive.sum())
        if n_usable < FEWEST_PARTICLES:
            row = measurement.row
            return Outcome(state, row, cost, nothing_usable(n_usable, self.n_particles))
        population = self._shrunk(population)
        row = population_row(population, 1.0) | measurement.row
        state = dataclasses.replace(state, population=population)
        stop = tolerance_reached(population.bandwidth) if self._is_down(population) else None
        return Outcome(state, row, cost, stop)

    def _shrunk(self, population: Population) -> Population:
        return shrunk(population, self.weight_kernel, alpha=self.alpha, tolerance=self.tolerance)

    def _is_down(self, population: Population) -> bool:
        return self.tolerance is not None and population.bandwidth <= self.tolerance


def shrunk(
    population: Population, kernel: AbstractKernel, *, alpha: float, tolerance: float | None
) -> Population:
    """The population at the smallest bandwidth that keeps ``alpha`` of its effective size.

    The bandwidth never rises and never falls below ``tolerance``. The weights are those of the
    paper's table of backward kernels, ``w_t = w_{t-1} k(D, h_t) / k(D, h_{t-1})``.
    """
    wanted = alpha * population.ess

    def enough(bandwidth: float) -> bool:
        return effective_sample_size(reweighed(population, kernel, bandwidth)) >= wanted

    known = population.distance[population.alive]
    largest = max(float(np.abs(known).max()), np.finfo(np.float64).tiny)
    lowest = float(known.min()) if kernel.signed else _NARROWEST * largest
    highest = min(population.bandwidth, largest / _NARROWEST)
    bandwidth = _least(enough, lowest, highest)
    if tolerance is not None:
        bandwidth = min(max(bandwidth, tolerance), population.bandwidth)
    return dataclasses.replace(
        population,
        bandwidth=bandwidth,
        log_weights=reweighed(population, kernel, bandwidth),
    )


def reweighed(
    population: Population, kernel: AbstractKernel, bandwidth: float
) -> Float[np.ndarray, " K"]:
    """``log w + log k(D, h) - log k(D, h_before)``; the dead stay dead."""
    after = kernel.log_value(population.distance, bandwidth)
    before = kernel.log_value(population.distance, population.bandwidth)
    before = np.where(population.alive, before, 0.0)
    return np.where(population.alive, population.log_weights + after - before, -np.inf)


def _least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest number from ``low`` to ``high`` that is enough, where larger ones are."""
    if low >= high or enough(low):
        return min(low, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
