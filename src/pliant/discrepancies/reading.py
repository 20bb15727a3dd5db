"""How networks read an observation: its kind, its numbers, and what it was made under."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from pliant.discrepancies.draws import are_counts, dequantise
from pliant.problem.problem import Problem
from pliant.problem.sets import Draws, observed_draws

_MOST_LEVELS = 10  # of a feature of whole numbers, for it to be a category
_MOST_KINDS = 32  # that a network tells apart


class Read(eqx.Module):
    """Observations as networks see them, still in their own units."""

    rows: Float[np.ndarray, "*lead d"]
    """The numbers, counts spread over their unit interval."""
    own: Float[np.ndarray, "*lead e"]
    """Conditions, and which numbers were measured, where that differs by design."""
    kind: Int[np.ndarray, "*lead"] | None
    """The combination of categories, counted from zero; None if there are no categories."""
    seen: Bool[np.ndarray, "*lead d"] | None
    """Which numbers were measured; None if all were."""


class Reading(eqx.Module):
    """Which numbers of a flattened observation are read in which way."""

    numbers: Int[np.ndarray, " d"]
    """Features that are read as numbers."""
    counts: Bool[np.ndarray, " d"]
    """Which of them are counts."""
    categories: Int[np.ndarray, " q"]
    """Features that are read as categories."""
    patterns: Float[np.ndarray, "P _"] | None
    """All combinations of categories, and of what a simulator leaves out; None for no kinds."""

    @property
    def n_kinds(self) -> int:
        """How many kinds are told apart, all unknown ones as one; zero for none."""
        return 0 if self.patterns is None else len(self.patterns) + 1

    def read(self, key: Key[Array, ""], problem: Problem, draws: Draws) -> Read:
        """Read draws with any leading axes."""
        lead = draws.ok.shape
        x = np.asarray(draws.x).reshape(*lead, -1)
        seen = None if draws.seen is None else np.asarray(draws.seen).reshape(*lead, -1)
        rows = np.asarray(dequantise(key, jnp.asarray(x[..., self.numbers]), self.counts))
        return Read(
            rows=rows,
            own=self._own(problem, draws, seen),
            kind=None if self.patterns is None else self._kinds(problem, x, seen),
            seen=None if seen is None else seen[..., self.numbers],
        )

    def _own(self, problem: Problem, draws: Draws, seen: np.ndarray | None) -> np.ndarray:
        parts = [np.zeros((*draws.ok.shape, 0), np.float32)]
        if problem.conditions is not None:
            parts.append(problem.conditions.rows[np.asarray(draws.under)])
        if seen is not None and problem.missing is True:
            parts.append(seen[..., problem.gappy].astype(np.float32))
        return np.concatenate(parts, axis=-1)

    def _kinds(self, problem: Problem, x: np.ndarray, seen: np.ndarray | None) -> np.ndarray:
        assert self.patterns is not None
        found = _patterns(problem, x, seen, self.categories)
        kind = np.full(x.shape[:-1], len(self.patterns), np.int32)
        for number, pattern in enumerate(self.patterns):
            kind[np.all(found == pattern, axis=-1)] = number
        return kind


def fit_reading(problem: Problem, draws: Draws, *, by_kind: bool) -> Reading:
    """How to read observations, from the first round's draws.

    Args:
        problem: With the observations.
        draws: Some simulations, of which at least one is usable.
        by_kind: Whether categories are to be told apart from numbers.

    Raises:
        ValueError: If the simulator leaves numbers out in too many different ways.
    """
    ok = np.asarray(draws.ok)
    x = np.asarray(draws.x)[ok].reshape(int(ok.sum()), -1)
    observed = np.asarray(problem.observed).reshape(problem.n_obs, -1)
    both = np.concatenate([observed, x])
    seen = None
    if draws.seen is not None and problem.seen is not None:
        masks = problem.seen, np.asarray(draws.seen)[ok]
        seen = np.concatenate([mask.reshape(len(mask), -1) for mask in masks])
    whole = are_counts(observed) & are_counts(x) if seen is None else _whole(both, seen)
    left_out = seen is not None and problem.missing == "simulated"
    categories, patterns = np.zeros(0, int), None
    if by_kind:
        categories = np.flatnonzero(whole & [_has_few_levels(column) for column in both.T])
        patterns = np.unique(_patterns(problem, both, seen, categories), axis=0)
        if len(patterns) >= _MOST_KINDS:
            categories = np.zeros(0, int)
            patterns = np.unique(_patterns(problem, both, seen, categories), axis=0)
        if len(patterns) >= _MOST_KINDS:
            raise ValueError(
                f"missing: the simulator leaves numbers out in {len(patterns)} different ways, and "
                f"LikelihoodKL tells up to {_MOST_KINDS} apart. Use pliant.MMD()."
            )
        if not len(categories) and not left_out:
            patterns = None
    numbers = np.setdiff1d(np.arange(both.shape[1]), categories)
    return Reading(numbers, whole[numbers], categories, patterns)


def _has_few_levels(x: Float[np.ndarray, " S"]) -> bool:
    """Whether a feature can be a category; most others show in a thousand values."""
    return all(len(np.unique(part)) <= _MOST_LEVELS for part in (x[:1000], x))


def _whole(x: Float[np.ndarray, "S d"], seen: Bool[np.ndarray, "S d"]) -> Bool[np.ndarray, " d"]:
    """Which features are whole numbers wherever they were measured."""
    return np.all((x == np.round(x)) | ~seen, axis=0)


def _patterns(
    problem: Problem,
    x: Float[np.ndarray, "*lead d"],
    seen: Bool[np.ndarray, "*lead d"] | None,
    categories: Int[np.ndarray, " q"],
) -> Float[np.ndarray, "*lead _"]:
    """What tells kinds apart: the categories, and what the simulator left out."""
    if seen is None or problem.missing != "simulated":
        return x[..., categories]
    values = np.where(seen[..., categories], x[..., categories], np.float32(-1e9))
    return np.concatenate([values, seen.astype(np.float32)], axis=-1)


def read_observed(reading: Reading, problem: Problem, key: Key[Array, ""]) -> Read:
    """The observations."""
    return reading.read(key, problem, observed_draws(problem))
