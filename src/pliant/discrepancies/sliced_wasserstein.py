"""The squared 2-Wasserstein distance, averaged over one-dimensional projections."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from pliant._checks import check_integer, check_seed
from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.blocks import map_blocks
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, Distances
from pliant.problem.scale import as_divisors, as_rows, check_same_features

_BLOCK_VALUES = 2**18
"""Projected draws in one block."""


class SlicedWassersteinState(eqx.Module):
    """What SlicedWasserstein computes once from the observations."""

    centre: Float[Array, " d"]
    """The mean of the observations, taken from all draws before they are projected."""

    directions: Float[Array, "d P"]
    """Unit vectors, the same for all parameters and rounds."""

    quantiles: Float[Array, "N P"]
    """The projected observations, in order along each direction."""


class SlicedWasserstein(AbstractMeasuredDiscrepancy):
    r"""Sliced squared 2-Wasserstein distance (Bonneel et al., 2015).

    The mean over unit directions :math:`\omega_p` of the exact one-dimensional distance

    .. math::
        \mathcal{W}_2^2 = \int_0^1 \left(Q_{\omega_p^\top x}(t) - Q_{\omega_p^\top y}(t)\right)^2
            \mathrm{d}t

    between the step quantile functions of the projected sets, whatever their sizes. It needs no
    regularisation and no iterations, and is cheap for large sets.

    Attributes:
        n_projections: How many directions.
        seed: From which the directions are drawn, uniformly, once in ``prepare``.
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    n_projections: int = eqx.field(default=100, kw_only=True, static=True)
    seed: int = eqx.field(default=0, kw_only=True, static=True)
    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 1

    def __check_init__(self):
        check_integer("n_projections", self.n_projections, at_least=1)
        check_seed("seed", self.seed)

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """Each projection, before and after a step of sorting, which pads to a power of two."""
        return 4 * self.n_projections + 4

    @eqx.filter_jit
    def prepare(self, observed: Float[Array, "N *event"]) -> SlicedWassersteinState:
        """Draw the directions, and sort the projected observations."""
        points = as_rows(observed, 1, self.scale)
        centre = points.mean(0)
        shape = (points.shape[1], self.n_projections)
        directions = jax.random.normal(jax.random.key(self.seed), shape, points.dtype)
        directions /= jnp.linalg.norm(directions, axis=0, keepdims=True)
        quantiles = sort_columns((points - centre[None]) @ directions)
        return SlicedWassersteinState(centre, directions, quantiles)

    @eqx.filter_jit
    def measure(self, prepared: SlicedWassersteinState, x: Sets, ok: Mask) -> Distances:
        """Sliced distances of ``K`` simulated sets to the observed set; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.centre[None])
        M, N = rows.shape[1], prepared.quantiles.shape[0]
        if M * N >= 2**31:
            raise ValueError(f"x: expected M * N below 2**31, got M = {M} draws and N = {N}.")

        def distance(rows, ok):
            projected = (rows - prepared.centre[None]) @ prepared.directions
            quantiles = sort_columns(jnp.where(ok[:, None], projected, jnp.inf))
            i, j, width = merged_steps(ok.sum(), M, N)
            return (width @ jnp.square(quantiles[i] - prepared.quantiles[j])).mean()

        block = max(1, _BLOCK_VALUES // (self.n_projections * (M + N)))
        distances = map_blocks(jax.vmap(distance), rows, ok, block=block)
        return jnp.where(ok.any(1), distances, jnp.inf), {}


def merged_steps(
    n: Int[Array, ""], M: int, N: int
) -> tuple[Int[Array, " steps"], Int[Array, " steps"], Float[Array, " steps"]]:
    """The steps of two quantile functions at once, of ``n`` (at most ``M``) and ``N`` values.

    Levels are counted in units of ``1 / (n N)``, so that they are whole numbers and equal levels
    meet exactly.

    Returns:
        For each of ``M + N`` steps, the index of either function's sorted value, and the step's
        width; the widths sum to one, and those of surplus steps are zero.
    """
    n = jnp.maximum(n, 1)
    starts = jnp.concatenate([jnp.minimum(jnp.arange(M), n) * N, jnp.arange(N) * n])
    starts = jnp.sort(starts)
    width = jnp.diff(starts, append=n * N) / (n * N)
    inside = jnp.minimum(starts, n * N - 1)
    return inside // N, inside // n, width


def sort_columns(values: Float[Array, "n P"]) -> Float[Array, "n P"]:
    """Sort along the first axis by a bitonic network, whose every step compares whole rows.

    XLA's own sort on CPUs calls a comparison for each pair of numbers, and takes about ten times
    as long for a hundred columns of a hundred numbers.
    """
    n, P = values.shape
    size = 1 << (n - 1).bit_length()
    values = jnp.pad(values, ((0, size - n), (0, 0)), constant_values=jnp.inf)

    def exchange(values, distance, *, mirrored):
        pairs = values.reshape(-1, 2, distance, P)
        order = slice(None, None, -1 if mirrored else 1)
        first, second = pairs[:, 0], pairs[:, 1, order]
        low, high = jnp.minimum(first, second), jnp.maximum(first, second)[:, order]
        return jnp.stack([low, high], 1).reshape(size, P)

    sorted_run = 1
    while sorted_run < size:
        values = exchange(values, sorted_run, mirrored=True)
        distance = sorted_run // 2
        while distance >= 1:
            values = exchange(values, distance, mirrored=False)
            distance //= 2
        sorted_run *= 2
    return values[:n]
