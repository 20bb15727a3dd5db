"""Points: draws together with what they were made under and which of their numbers were seen."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from pliant.problem.problem import Problem

SPREADS = 3.0
"""Distances see features with a spread of 1/3: the default kernels and bandwidth suit that."""


def points(
    problem: Problem,
    x: Float[Array | np.ndarray, "*lead_event"],
    under: Int[Array | np.ndarray, "*lead"] | None,
    seen: Bool[Array | np.ndarray, "*lead_event"] | None,
) -> Float[Array, "*lead_point"]:
    """What sets are made of when they are compared: a draw, its condition, and its gaps.

    The distribution of all three together is what a parameter has to explain. Conditions are
    three times as far apart as the numbers of a draw, so that a draw is compared with those under
    a similar condition (MMD on a regression, N = 60: the slope is 0.3 exact deviations off, and
    2.7 with conditions as near as numbers). Without conditions and gaps, a point is the draw
    itself, in its own shape.

    Args:
        problem: With the conditions.
        x: Draws whose gaps are filled.
        under: The number of each draw's condition.
        seen: Which numbers of a draw were measured.
    """
    if problem.extras == 0:
        return jnp.asarray(x)
    lead = x.ndim - len(problem.event_shape)
    parts = [jnp.asarray(x).reshape(*x.shape[:lead], -1)]
    if problem.conditions is not None and under is not None:
        parts.append(jnp.asarray(problem.conditions.rows)[under])
    if seen is not None:
        bits = np.asarray(seen).reshape(*x.shape[:lead], -1)[..., problem.gappy]
        parts.append(jnp.asarray(bits, parts[0].dtype) / SPREADS)
    return jnp.concatenate(parts, axis=-1)


def observed_points(problem: Problem) -> Float[Array, "N *point"]:
    """The observed set."""
    return points(problem, problem.observed, np.arange(problem.n_obs), problem.seen)


def with_extras(
    problem: Problem, divisors: Float[np.ndarray, " d"] | None
) -> Float[np.ndarray, " point"] | None:
    """Divisors of a draw's features, and ones for what a point has beside them."""
    if divisors is None or problem.extras == 0:
        return divisors
    return np.concatenate([divisors, np.ones(problem.extras)])
