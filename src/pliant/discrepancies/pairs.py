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
    """The observations, flattened, scaled, and less the centre."""

    centre: Float[Array, " d"]
    """The mean of many features, for precise products; zero for few, whose differences are."""

    offset: Float[Array, ""]
    """About ``E k(y, y')``: taken from every kernel value, because small numbers sum precisely."""

    mean: Float[Array, ""]
    """``E k(y, y') - offset``."""


def observed_pairs(kernel: Kernel, points: Float[Array, "N d"]) -> ObservedPairs:
    """Average the kernel over the pairs of different observations.

    One observation has no such pair: its own ``k(y, y)`` stands in, so that simulated sets which
    close in on that observation have distances which close in on zero.
    """
    N, d = points.shape
    by_differences = d <= _FEATURES_BY_DIFFERENCES
    centre = jnp.zeros(d, points.dtype) if by_differences else points.mean(0)
    points = points - centre[None]
    zero = jnp.zeros((), points.dtype)
    if N == 1:
        return ObservedPairs(points, centre, kernel(zero), zero)
    w = jnp.ones((1, N), points.dtype)

    def refine(_, carry):
        offset, mean = carry
        offset = offset + mean
        return offset, sums_within(kernel, points[None], w, offset=offset)[0] / (N * (N - 1))

    return ObservedPairs(points, centre, *lax.fori_loop(0, 2, refine, (zero, zero)))


def u_statistic(
    kernel: Kernel,
    observed: ObservedPairs,
    x: Float[Array, "K M d"],
    ok: Bool[Array, "K M"],
) -> Float[Array, " K"]:
    """``E k(x, x') + E k(y, y') - 2 E k(x, y)`` without bias; infinite for less than two draws."""
    points, offset = observed.points, observed.offset

    def sums(x, ok):
        w = ok.astype(x.dtype)
        # Zero, so that NaN in an unusable draw counts for nothing.
        x = jnp.where(ok[..., None], x - observed.centre[None, None], 0)
        across = sums_across(kernel, x, w, points, offset=offset)
        return across, sums_within(kernel, x, w, offset=offset)

    M, d = x.shape[1:]
    if d <= _FEATURES_BY_DIFFERENCES:
        block = _BLOCK_DRAWS // _round_up(M, _LANES)
    else:
        block = _BLOCK_PAIRS // (M * min(max(M, points.shape[0]), _TILE))
    across, within = map_blocks(sums, x, ok, block=max(1, block))
    n = ok.sum(1).astype(x.dtype)
    distances = within / (n * (n - 1)) + observed.mean - 2 * across / (n * points.shape[0])
    return jnp.where(n >= 2, distances, jnp.inf)


def pair_numbers(n_features: int, n_obs: int) -> float:
    """The numbers that ``u_statistic`` holds for each draw of one set, at most."""
    if n_features <= _FEATURES_BY_DIFFERENCES:
        return 4 * (n_features + 1)
    return 3 * n_features + 2 * _TILE + min(n_obs, _TILE)


def observation_means(
    kernel: Kernel,
    observed: ObservedPairs,
    x: Float[Array, "K M d"],
    ok: Bool[Array, "K M"],
) -> Float[Array, "K N"]:
    """For every set, the mean of ``k(x_j, y_i)`` over its draws, for each observation."""

    def one(pair):
        x, ok = pair
        x = jnp.where(ok[:, None], x - observed.centre[None], 0)
        values = kernel(_squared_by_product(x, observed.points))
        return jnp.where(ok[:, None], values, 0).sum(0) / ok.sum()

    return lax.map(one, (x, ok))


def sums_across(
    kernel: Kernel,
    x: Float[Array, "B M d"],
    w: Float[Array, "B M"],
    y: Float[Array, "N d"],
    *,
    offset: Float[Array, ""],
) -> Float[Array, " B"]:
    """For every set, the sum of ``w_i (k(x_i, y_j) - offset)`` over all pairs."""
    if x.shape[-1] <= _FEATURES_BY_DIFFERENCES:
        x, w = _pad_draws(x, w, _LANES)
        features = jnp.moveaxis(x, -1, 0)
        groups, weights = _in_groups(y, _UNROLL)

        def meet(group, total):
            for point, weight in zip(groups[group], weights[group], strict=True):
                total += weight * (kernel(_squared(features, point)) - offset)
            return total
    else:
        groups, weights = _in_groups(y, min(len(y), _TILE))

        def meet(group, total):
            values = kernel(_squared_by_product(x, groups[group])) - offset
            # One product a set: XLA rounds that of a long matrix by a row's place in it.
            w_others = jnp.broadcast_to(weights[group], (len(x), weights.shape[1]))
            return total + jnp.einsum("bij,bj->bi", values, w_others)

    return (w * lax.fori_loop(0, len(groups), meet, jnp.zeros_like(w))).sum(-1)


def sums_within(
    kernel: Kernel,
    x: Float[Array, "B M d"],
    w: Float[Array, "B M"],
    *,
    offset: Float[Array, ""],
) -> Float[Array, " B"]:
    """For every set, the sum of ``w_i w_j (k(x_i, x_j) - offset)`` over all ``i != j``."""
    if x.shape[-1] <= _FEATURES_BY_DIFFERENCES:
        x, w = _pad_draws(x, w, _LANES)
        M = w.shape[1]
        features = jnp.moveaxis(x, -1, 0)
        # One array a feature: a slice of them all at once would be copied before it is used.
        rings = [jnp.concatenate([a, a], -1) for a in (w, *features)]
        # A pair is met once, and counts twice; half a turn meets its pairs twice, to count once.
        counts = jnp.full(M // 2, 2, x.dtype).at[-1].set(1).reshape(-1, _UNROLL)

        def meet(step, total):
            for u in range(_UNROLL):
                shift = 1 + step * _UNROLL + u
                w_others, *others = (lax.dynamic_slice_in_dim(a, shift, M, 1) for a in rings)
                values = kernel(_squared(features, others)) - offset
                total += counts[step, u] * w_others * values
            return total

        steps = len(counts)
    else:
        wide = min(w.shape[1], _TILE)
        x, w = _pad_draws(x, w, wide)
        M = w.shape[1]

        def meet(step, total):
            start = step * wide
            others, w_others = (lax.dynamic_slice_in_dim(a, start, wide, 1) for a in (x, w))
            values = kernel(_squared_by_product(x, others)) - offset
            itself = jnp.arange(M)[None, :, None] == start + jnp.arange(wide)[None, None]
            return total + jnp.einsum("bij,bj->bi", jnp.where(itself, 0, values), w_others)

        steps = M // wide
    return (w * lax.fori_loop(0, steps, meet, jnp.zeros_like(w))).sum(-1)


def _squared(xs, ys) -> Array:
    """Squared distances from the arrays of each feature."""
    return jnp.asarray(sum(jnp.square(x - y) for x, y in zip(xs, ys, strict=True)))


def _squared_by_product(
    x: Float[Array, "*B M d"], y: Float[Array, "*C N d"]
) -> Float[Array, "*B M N"]:
    x_squared, y_squared = jnp.square(x).sum(-1)[..., None], jnp.square(y).sum(-1)[..., None, :]
    y_squared = jnp.expand_dims(y_squared, range(x.ndim - y.ndim))  # one y may stand for all sets
    return jnp.maximum(x_squared + y_squared - 2 * x @ y.mT, 0)


def _in_groups(
    y: Float[Array, "N d"], size: int
) -> tuple[Float[Array, "G size d"], Float[Array, "G size"]]:
    """Points in groups of equal size, and their weights: zero for those that fill the last one."""
    padding = -y.shape[0] % size
    weights = jnp.pad(jnp.ones(y.shape[:1], y.dtype), (0, padding))
    points = jnp.pad(y, ((0, padding), (0, 0)))
    return points.reshape(-1, size, y.shape[1]), weights.reshape(-1, size)


def _pad_draws(
    x: Float[Array, "B M d"], w: Float[Array, "B M"], multiple: int
) -> tuple[Float[Array, "B L d"], Float[Array, "B L"]]:
    padding = (0, _round_up(w.shape[1], multiple) - w.shape[1])
    return jnp.pad(x, ((0, 0), padding, (0, 0))), jnp.pad(w, ((0, 0), padding))


def _round_up(n: int, multiple: int) -> int:
    return n + -n % multiple
