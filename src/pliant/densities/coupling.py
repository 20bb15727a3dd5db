"""Rational-quadratic coupling layers, with the batch on the last axis.

Written by hand: with the batch last, XLA vectorises the splines over it on a CPU, and a
gradient step takes 0.55 (batches of 1000) to 0.8 (of 125) of the time of the same layers in
flowjax, whose spline is the oracle in the tests. Neural Spline Flows, Durkan et al. 2019.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from pliant.densities.weights import generator, uniform_weights

_MIN_BIN = 1e-3  # the narrowest bin, as a share of the interval
_MIN_SLOPE = 1e-3
_UNIT = math.log(math.expm1(1 - _MIN_SLOPE))  # where the slope is one


class CouplingFlow(eqx.Module):
    """A bijection x -> y of R^dim, initialised as the identity.

    Each layer keeps the first half of its input, transforms the rest by monotone splines whose
    knots a small network computes from that half and the condition, and moves the transformed half
    to the front.

    Args:
        key: For the weights of the hidden layers; the last layer starts at zero.
        dim: The dimension.
        condition_dim: The length of the vector that the bijection is conditioned on.
        layers: Coupling layers.
        bins: Bins of each spline.
        width: Units in each hidden layer.
        depth: Hidden layers of each network.
        interval: Splines act on [-interval, interval] and are the identity outside.
    """

    hidden_1: Float[Array, "layers width inputs"]
    bias_1: Float[Array, "layers width 1"]
    hidden: Float[Array, "layers more width width"]
    """Of the hidden layers after the first."""
    bias: Float[Array, "layers more width 1"]
    last: Float[Array, "layers outputs width"]
    bias_last: Float[Array, "layers outputs 1"]
    dim: int = eqx.field(static=True)
    bins: int = eqx.field(static=True)
    interval: float = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        *,
        dim: int,
        condition_dim: int = 0,
        layers: int = 5,
        bins: int = 10,
        width: int = 50,
        depth: int = 2,
        interval: float = 5.0,
    ):
        kept = dim // 2
        inputs = kept + condition_dim
        outputs = (3 * bins - 1) * (dim - kept)
        rng = generator(key)
        self.hidden_1 = uniform_weights(rng, (layers, width, inputs), inputs)
        self.bias_1 = jnp.zeros((layers, width, 1))
        self.hidden = uniform_weights(rng, (layers, depth - 1, width, width), width)
        self.bias = jnp.zeros((layers, depth - 1, width, 1))
        self.last = jnp.zeros((layers, outputs, width))
        self.bias_last = jnp.zeros((layers, outputs, 1))
        self.dim = dim
        self.bins = bins
        self.interval = interval

    def forward(
        self,
        x: Float[Array, "dim B"],
        condition: Float[Array, "condition_dim #B"] | None = None,
        seen: Bool[Array, "dim B"] | None = None,
    ) -> tuple[Float[Array, "dim B"], Float[Array, " B"]]:
        """y(x) and ``log |dy/dx|``; what is not ``seen`` is zero and stays as it is."""
        kept = self.dim // 2

        def layer(carry: tuple[Array, Array, Array | None], weights: tuple[Array, ...]):
            x, log_det, seen = carry
            knots = self._knots(weights, x[:kept], condition)
            y, slope = spline_forward(x[kept:], *knots, interval=self.interval)
            if seen is not None:
                y, slope = (jnp.where(seen[kept:], new, 0.0) for new in (y, slope))
                seen = jnp.concatenate([seen[kept:], seen[:kept]])
            y = jnp.concatenate([y, x[:kept]])
            return (y, log_det + jnp.sum(slope, axis=0), seen), None

        start = (x, jnp.zeros(x.shape[1]), seen)
        (y, log_det, _), _ = jax.lax.scan(layer, start, self._weights)
        return y, log_det

    def inverse(
        self, y: Float[Array, "dim B"], condition: Float[Array, "condition_dim #B"] | None = None
    ) -> tuple[Float[Array, "dim B"], Float[Array, " B"]]:
        """x(y) and ``log |dy/dx|`` there."""
        moved = self.dim - self.dim // 2

        def layer(carry: tuple[Array, Array], weights: tuple[Array, ...]):
            y, log_det = carry
            knots = self._knots(weights, y[moved:], condition)
            x, slope = spline_inverse(y[:moved], *knots, interval=self.interval)
            return (jnp.concatenate([y[moved:], x]), log_det + jnp.sum(slope, axis=0)), None

        start = (y, jnp.zeros(y.shape[1]))
        (x, log_det), _ = jax.lax.scan(layer, start, self._weights, reverse=True)
        return x, log_det

    @property
    def _weights(self) -> tuple[Array, ...]:
        return (
            self.hidden_1,
            self.bias_1,
            self.hidden,
            self.bias,
            self.last,
            self.bias_last,
        )

    def _knots(
        self, weights: tuple[Array, ...], kept: Float[Array, "kept B"], condition: Array | None
    ) -> tuple[Array, Array, Array]:
        hidden_1, bias_1, hidden, bias, last, bias_last = weights
        h = hidden_1[:, : len(kept)] @ kept + bias_1
        if condition is not None:
            h = h + hidden_1[:, len(kept) :] @ condition
        h = jax.nn.relu(h)
        for own_hidden, own_bias in zip(hidden, bias, strict=True):
            h = jax.nn.relu(own_hidden @ h + own_bias)
        raw = (last @ h + bias_last).reshape(3 * self.bins - 1, self.dim - self.dim // 2, -1)
        widths = _partition(raw[: self.bins], self.interval)
        heights = _partition(raw[self.bins : 2 * self.bins], self.interval)
        slopes = _MIN_SLOPE + jax.nn.softplus(raw[2 * self.bins :] + _UNIT)
        return widths, heights, slopes


def spline_forward(
    x: Float[Array, "D B"],
    widths: Float[Array, "bins D B"],
    heights: Float[Array, "bins D B"],
    slopes: Float[Array, "bins-1 D B"],
    *,
    interval: float,
) -> tuple[Float[Array, "D B"], Float[Array, "D B"]]:
    """The monotone rational-quadratic spline y(x) and ``log dy/dx`` (eqs. 4 and 5 of the NSF)."""
    clipped = jnp.clip(x, -interval, interval)
    bin_ = _find_bin(clipped, widths, interval)
    x0, width, y0, height, d0, d1 = _pick(bin_, widths, heights, slopes, interval)
    slope = height / width
    t = (clipped - x0) / width
    s = t * (1 - t)
    y = y0 + height * (slope * t * t + d0 * s) / (slope + (d0 + d1 - 2 * slope) * s)
    inside = jnp.abs(x) < interval
    log_slope = jnp.where(inside, _log_slope(t, slope, d0, d1), 0.0)
    return jnp.where(inside, y, x), log_slope


def spline_inverse(
    y: Float[Array, "D B"],
    widths: Float[Array, "bins D B"],
    heights: Float[Array, "bins D B"],
    slopes: Float[Array, "bins-1 D B"],
    *,
    interval: float,
) -> tuple[Float[Array, "D B"], Float[Array, "D B"]]:
    """The inverse x(y) of ``spline_forward``, and ``log dy/dx`` there."""
    clipped = jnp.clip(y, -interval, interval)
    bin_ = _find_bin(clipped, heights, interval)
    x0, width, y0, height, d0, d1 = _pick(bin_, widths, heights, slopes, interval)
    slope = height / width
    rise = clipped - y0
    bend = rise * (d0 + d1 - 2 * slope)
    a = height * (slope - d0) + bend
    b = height * d0 - bend
    c = -slope * rise
    root = jnp.sqrt(jnp.maximum(b * b - 4 * a * c, 0.0))
    t = jnp.clip(2 * c / (-b - root), 0.0, 1.0)
    inside = jnp.abs(y) < interval
    log_slope = jnp.where(inside, _log_slope(t, slope, d0, d1), 0.0)
    return jnp.where(inside, x0 + t * width, y), log_slope


def _log_slope(t: Array, slope: Array, d0: Array, d1: Array) -> Array:
    s = t * (1 - t)
    over = d1 * t * t + 2 * slope * s + d0 * (1 - t) ** 2
    under = slope + (d0 + d1 - 2 * slope) * s
    return jnp.log(slope * slope * over / (under * under))


def _partition(raw: Float[Array, "bins D B"], interval: float) -> Float[Array, "bins D B"]:
    """Bin sizes that add up to the whole interval."""
    bins = raw.shape[0]
    shares = _MIN_BIN + (1 - _MIN_BIN * bins) * jax.nn.softmax(raw, axis=0)
    return 2 * interval * shares


def _find_bin(value: Array, sizes: Float[Array, "bins D B"], interval: float) -> Array:
    sizes = jax.lax.stop_gradient(sizes)
    edge = jnp.full_like(value, -interval)
    found = jnp.zeros(value.shape, jnp.int32)
    for size in sizes[:-1]:
        edge = edge + size
        found += value >= edge
    return found


def _pick(
    bin_: Array, widths: Array, heights: Array, slopes: Array, interval: float
) -> tuple[Array, ...]:
    """Left edge, width, bottom, height and end slopes of each value's bin, by masked sums."""
    bins = widths.shape[0]
    index, own = jnp.arange(bins)[:, None, None], bin_[None]
    here, before = index == own, index < own
    inner = index[1:]

    def total(mask: Array, values: Array) -> Array:
        return jnp.sum(jnp.where(mask, values, 0.0), axis=0)

    return (
        total(before, widths) - interval,
        total(here, widths),
        total(before, heights) - interval,
        total(here, heights),
        total(inner == own, slopes) + (bin_ == 0),
        total(inner == own + 1, slopes) + (bin_ == bins - 1),
    )
