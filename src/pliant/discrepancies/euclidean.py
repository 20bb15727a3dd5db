"""The squared error between the means of two sets."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.blocks import map_blocks, sum_in_order
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, Distances
from pliant.problem.scale import as_divisors, as_rows, check_same_features

_BLOCK_VALUES = 2**16
"""Features of all draws in one block."""


class EuclideanState(eqx.Module):
    """What Euclidean computes once from the observations."""

    mean: Float[Array, " d"]


class Euclidean(AbstractMeasuredDiscrepancy):
    r"""Squared Euclidean distance between the means of the two sets.

    For one observation and one draw this is the squared error :math:`\lVert x - y \rVert^2`, which
    the paper's authors use there. Of larger sets it sees nothing but the means: parameters that
    change the spread or the shape alone are not found by it.

    Attributes:
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 1

    @eqx.filter_jit
    def prepare(self, observed: Float[Array, "N *event"]) -> EuclideanState:
        """Average the observations."""
        return EuclideanState(as_rows(observed, 1, self.scale).mean(0))

    @eqx.filter_jit
    def measure(self, prepared: EuclideanState, x: Sets, ok: Mask) -> Distances:
        """Squared errors of the means of ``K`` simulated sets; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.mean[None])

        def distances(rows, ok):
            errors = jnp.where(ok[..., None], rows - prepared.mean[None, None], 0)
            n = jnp.maximum(ok.sum(1), 1)
            return sum_in_order(
                jnp.zeros_like(rows[:, 0, 0]), jnp.square(errors.sum(1) / n[:, None])
            )

        block = max(1, _BLOCK_VALUES // rows[0].size)
        squared = map_blocks(distances, rows, ok, block=block)
        return jnp.where(ok.any(1), squared, jnp.inf), {}
