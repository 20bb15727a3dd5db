"""The energy distance."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.measured import AbstractWeighableDiscrepancy, Distances
from pliant.discrepancies.pairs import (
    ObservedPairs,
    observation_means,
    observed_pairs,
    pair_numbers,
    u_statistic,
)
from pliant.problem.scale import as_divisors, as_rows, check_same_features


class Energy(AbstractWeighableDiscrepancy):
    r"""Energy distance (Székely and Rizzo, 2013), which needs no lengthscale.

    The unbiased U-statistic of ``N`` observations and ``M`` draws,

    .. math::
        \frac{2}{NM} \sum_{i, j} \lVert y_i - x_j \rVert
        - \frac{1}{N(N-1)} \sum_{i \neq j} \lVert y_i - y_j \rVert
        - \frac{1}{M(M-1)} \sum_{i \neq j} \lVert x_i - x_j \rVert,

    which is negative at times, because it is zero on average where the distributions agree. The
    middle term does not depend on the parameters, and is zero for a single observation.

    Attributes:
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 2

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """Those of the sums over pairs."""
        return pair_numbers(n_features, n_obs)

    @eqx.filter_jit
    def prepare(self, observed: Float[Array, "N *event"]) -> ObservedPairs:
        """Average the distances between observations."""
        return observed_pairs(_negative_distance, as_rows(observed, 1, self.scale))

    @eqx.filter_jit
    def measure(self, prepared: ObservedPairs, x: Sets, ok: Mask) -> Distances:
        """Energy distances of ``K`` simulated sets to the observed set; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.points)
        return u_statistic(_negative_distance, prepared, rows, ok), {}

    @eqx.filter_jit
    def influences(self, prepared: ObservedPairs, x: Sets, ok: Mask) -> Float[Array, "K N"]:
        """Twice the mean distance of an observation to a set's draws; see the base class."""
        return -2 * observation_means(_negative_distance, prepared, as_rows(x, 2, self.scale), ok)


def _negative_distance(squared: Array) -> Array:
    return -jnp.sqrt(squared)
