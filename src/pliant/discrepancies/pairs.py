"""Means of a kernel over all pairs of draws: the arithmetic below MMD and energy distance.

Both are ``E k(x, x') + E k(y, y') - 2 E k(x, y)`` for a kernel of the squared distance. The two
regimes below were measured on XLA's CPU compiler, which turns element-wise loops into vector code
but not the sum of a whole matrix:

* **few features**: draws lie along the vector lanes, and a loop over their partners adds one
  kernel value a lane. Distances come from differences, so they are exact to rounding, and the
  pairs within a set are visited once each: lane ``i`` meets lane ``i + s`` for ``s`` up to half
  a turn.
* **many features**: distances come from a matrix product of centred data, and sums from a product
  with the weights.

Work is done in blocks whose size depends on the sizes of the sets alone, so that memory is bounded
and a distance does not depend on the batch that it was measured in.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from pliant.discrepancies.blocks import map_blocks

Kernel = Callable[[Array], Array]
"""A function of squared distances, applied to each element."""

_FEATURES_BY_DIFFERENCES = 16
"""Up to this many features, differences cost no more than they gain in precision."""

_LANES = 8
"""Draws are padded to a multiple of this: the floats in one vector register."""

_UNROLL = 2
"""Partners that a lane meets in one step of a loop."""

_BLOCK_DRAWS = 6656
"""Draws in one block: enough for a step to outweigh its start, few enough for a core's cache."""

_TILE = 512
"""Partners in one matrix product."""

_BLOCK_PAIRS = 2**17
"""Pairs in one matrix product."""


class ObservedPairs(eqx.Module):
    """What the U-statistics need to know about the observed set."""

    points: Float[Array, "N d"]
    """The observations, flattened and scaled."""

    offset: Float[Array, ""]
    """About ``E k(y, y')``: taken from every kernel value, because small numbers sum precisely."""

    mean: Float[Array, ""]
    """``E k(y, y') - offset``."""


def observed_pairs(kernel: Kernel, points: Float[Array, "N d"]) -> ObservedPairs:
    """Average the kernel over the pairs of different observations.

    One observation has no such pair: its own ``k(y, y)`` stands in, so that simulated sets which
    close in on that observation have distances which close in on zero.
    """
    zero = jnp.zeros((), points.dtype)
    if points.shape[0] == 1:
        return ObservedPairs(points, kernel(zero), zero)
    ok = jnp.ones((1, points.shape[0]), bool)

    def refine(_, carry):
        offset, mean = carry
        offset = offset + mean
        return offset, mean_within(kernel, points[None], ok, offset=offset)[0]

    return ObservedPairs(points, *lax.fori_loop(0, 2, refine, (zero, zero)))


def u_statistic(
    kernel: Kernel,
    observed: ObservedPairs,
    x: Float[Array, "K M d"],
    ok: Bool[Array, "K M"],
) -> Float[Array, " K"]:
    """``E k(x, x') + E k(y, y') - 2 E k(x, y)`` without bias; infinite for less than two draws."""
    x = jnp.where(ok[..., None], x, 0)  # so that NaN in an unusable draw counts for nothing
    within = mean_within(kernel, x, ok, offset=observed.offset)
    draws = x.reshape(-1, x.shape[-1])
    to_observed = mean_to(kernel, draws, observed.points, offset=observed.offset)
    cross = jnp.where(ok, to_observed.reshape(ok.shape), 0).sum(1) / ok.sum(1)
    return jnp.where(ok.sum(1) >= 2, within + observed.mean - 2 * cross, jnp.inf)


def mean_to(
    kernel: Kernel,
    x: Float[Array, "L d"],
    y: Float[Array, "N d"],
    *,
    offset: Float[Array, ""],
) -> Float[Array, " L"]:
    """For every draw, the mean of ``k(x_i, y_j) - offset`` over all points ``y_j``."""
    N, d = y.shape
    if d <= _FEATURES_BY_DIFFERENCES:
        steps, weights = _in_groups(y, _UNROLL)

        def sums(x):
            features = x.T

            def meet(step, total):
                for point, weight in zip(steps[step], weights[step], strict=True):
                    total += weight * (kernel(_squared(features, point)) - offset)
                return total

            return lax.fori_loop(0, len(steps), meet, jnp.zeros(x.shape[:1], x.dtype))

        return map_blocks(sums, x, block=_BLOCK_DRAWS) / N

    centre = y.mean(0)
    tiles, weights = _in_groups(y - centre, min(N, _TILE))

    def sums(x):
        def meet(tile, total):
            squared = _squared_by_product(x, tiles[tile])
            return total + (kernel(squared) - offset) @ weights[tile]

        return lax.fori_loop(0, len(tiles), meet, jnp.zeros(x.shape[:1], x.dtype))

    return map_blocks(sums, x - centre, block=_BLOCK_PAIRS // tiles.shape[1]) / N


def mean_within(
    kernel: Kernel,
    x: Float[Array, "K M d"],
    ok: Bool[Array, "K M"],
    *,
    offset: Float[Array, ""],
) -> Float[Array, " K"]:
    """For every set, the mean of ``k(x_i, x_j) - offset`` over usable draws with ``i != j``.

    Unusable draws must be finite. The mean is NaN where there is no pair.
    """
    M, d = x.shape[1:]
    w = ok.astype(x.dtype)
    if d <= _FEATURES_BY_DIFFERENCES:
        size, sums = _round_up(M, _LANES), _sums_within_by_differences
        block = max(1, _BLOCK_DRAWS // size)
    else:
        size, sums = M if M <= _TILE else _round_up(M, _TILE), _sums_within_by_products
        block = max(1, _BLOCK_PAIRS // (size * min(size, _TILE)))
    totals = map_blocks(
        lambda x, w: sums(kernel, offset, x, w),
        jnp.pad(x, ((0, 0), (0, size - M), (0, 0))),
        jnp.pad(w, ((0, 0), (0, size - M))),
        block=block,
    )
    n = w.sum(1)
    return totals / (n * (n - 1))


def _sums_within_by_differences(
    kernel: Kernel,
    offset: Float[Array, ""],
    x: Float[Array, "B M d"],
    w: Float[Array, "B M"],
) -> Float[Array, " B"]:
    M = x.shape[1]
    features = jnp.moveaxis(x, -1, 0)
    # One array a feature: a slice of them all at once would be copied before it is used.
    rings = [jnp.concatenate([a, a], -1) for a in (w, *features)]
    # Every pair is met once, and counts twice; half a turn meets its pairs twice, to count once.
    counts = jnp.full(M // 2, 2, x.dtype).at[-1].set(1).reshape(-1, _UNROLL)

    def meet(step, total):
        for u in range(_UNROLL):
            shift = 1 + step * _UNROLL + u
            w_others, *others = (lax.dynamic_slice_in_dim(a, shift, M, axis=-1) for a in rings)
            values = kernel(_squared(features, others)) - offset
            total += counts[step, u] * w_others * values
        return total

    return (w * lax.fori_loop(0, len(counts), meet, jnp.zeros_like(w))).sum(-1)


def _sums_within_by_products(
    kernel: Kernel,
    offset: Float[Array, ""],
    x: Float[Array, "B M d"],
    w: Float[Array, "B M"],
) -> Float[Array, " B"]:
    M = x.shape[1]
    centre = (w[:, None] @ x) / jnp.maximum(w.sum(-1), 1)[:, None, None]
    x = jnp.where(w[..., None] > 0, x - centre, 0)
    wide = min(M, _TILE)

    def meet(tile, total):
        start = tile * wide
        others = lax.dynamic_slice_in_dim(x, start, wide, axis=1)
        w_others = lax.dynamic_slice_in_dim(w, start, wide, axis=1)
        values = kernel(_squared_by_product(x, others)) - offset
        itself = jnp.arange(M)[:, None] == start + jnp.arange(wide)
        return total + jnp.einsum("bij,bj->bi", jnp.where(itself, 0, values), w_others)

    return (w * lax.fori_loop(0, M // wide, meet, jnp.zeros_like(w))).sum(-1)


def _squared(xs, ys) -> Array:
    """Squared distances from the arrays of each feature."""
    return jnp.asarray(sum(jnp.square(x - y) for x, y in zip(xs, ys, strict=True)))


def _squared_by_product(
    x: Float[Array, "*B M d"], y: Float[Array, "*B N d"]
) -> Float[Array, "*B M N"]:
    x_squared, y_squared = jnp.square(x).sum(-1), jnp.square(y).sum(-1)
    return jnp.maximum(x_squared[..., :, None] + y_squared[..., None, :] - 2 * x @ y.mT, 0)


def _in_groups(
    y: Float[Array, "N d"], size: int
) -> tuple[Float[Array, "G size d"], Float[Array, "G size"]]:
    """Points in groups of equal size, and their weights: zero for those that fill the last one."""
    padding = -y.shape[0] % size
    weights = jnp.pad(jnp.ones(y.shape[:1], y.dtype), (0, padding))
    points = jnp.pad(y, ((0, padding), (0, 0)))
    return points.reshape(-1, size, y.shape[1]), weights.reshape(-1, size)


def _round_up(n: int, multiple: int) -> int:
    return n + -n % multiple
