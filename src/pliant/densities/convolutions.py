"""Embeddings of long observations: convolutions along time or space, or a network of one's own."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.densities.embeddings import AbstractEmbedding
from pliant.densities.weights import generator, perceptron, uniform_weights

_SMALL = 8  # places along each axis to which an observation is reduced
_FEW = 100  # places of an observation whose first layer has as many
_REACH = {1: 5, 2: 3}  # places that a convolution sees along an axis, by the number of axes


class SeriesEmbedding(AbstractEmbedding):
    """Convolutions along time, for series ``(T,)`` or ``(T, channels)`` of equidistant points.

    Each layer sees five neighbouring points, or positions of the layer before, and halves their
    number (but for the first layer of up to 100) until eight or fewer are left. What they found is
    averaged over time, which suits stationary series, and the last layer is kept by position too,
    which suits others.

    Args:
        features: The length of the vector.
        channels: Numbers at each position of a layer.
        width: Units in each of the two hidden layers of the network behind the convolutions.
    """

    features: int = eqx.field(static=True, default=32)
    channels: int = eqx.field(static=True, default=16)
    width: int = eqx.field(static=True, default=64)

    def __check_init__(self):
        _check_sizes(self)

    def input_shape(self, event: tuple[int, ...]) -> tuple[int, int]:
        """``(T, channels)``."""
        if not 1 <= len(event) <= 2:
            raise ValueError(
                "embedding: SeriesEmbedding takes observations of the shape (T,) or (T, channels), "
                f"got {event}."
            )
        return event[0], math.prod(event[1:])

    def build(self, key: Key[Array, ""], shape: Any) -> "ConvolutionalNetwork":
        """Convolutions along the first axis."""
        return _network(key, shape, self)


class ImageEmbedding(AbstractEmbedding):
    """Convolutions in the plane, for images ``(height, width)`` or ``(height, width, channels)``.

    As ``SeriesEmbedding``, with neighbourhoods of 3 x 3.

    Args:
        features: The length of the vector.
        channels: Numbers at each position of a layer.
        width: Units in each of the two hidden layers of the network behind the convolutions.
    """

    features: int = eqx.field(static=True, default=32)
    channels: int = eqx.field(static=True, default=16)
    width: int = eqx.field(static=True, default=64)

    def __check_init__(self):
        _check_sizes(self)

    def input_shape(self, event: tuple[int, ...]) -> tuple[int, int, int]:
        """``(height, width, channels)``."""
        if not 2 <= len(event) <= 3:
            raise ValueError(
                "embedding: ImageEmbedding takes observations of the shape (height, width) or "
                f"(height, width, channels), got {event}."
            )
        return event[0], event[1], math.prod(event[2:])

    def build(self, key: Key[Array, ""], shape: Any) -> "ConvolutionalNetwork":
        """Convolutions along the first two axes."""
        return _network(key, shape, self)


class ModuleEmbedding(AbstractEmbedding):
    """Any ``equinox`` module of one's own.

    It is called with one observation in its own shape, standardised by number, and must return a
    vector. Its arrays are trained.

    Args:
        module: The module.
        features: The length of the vector that it returns.
    """

    module: Any
    features: int = eqx.field(static=True)

    def __check_init__(self):
        check_integer("features", self.features, at_least=1)
        if not callable(self.module):
            raise TypeError(
                "module: expected an equinox module that is called with an observation, got "
                f"{self.module!r}."
            )

    def input_shape(self, event: tuple[int, ...]) -> tuple[int, ...]:
        """The observation's own."""
        return event

    def build(self, key: Key[Array, ""], shape: Any) -> Any:
        """The module itself, checked with one observation."""
        try:
            out = eqx.filter_eval_shape(self.module, jax.ShapeDtypeStruct(shape, float))
        except Exception as error:
            raise ValueError(
                f"module: it could not be called with an array of the shape {shape}: {error}"
            ) from error
        if getattr(out, "shape", None) != (self.features,):
            raise ValueError(
                f"module: expected it to return an array of the shape ({self.features},), because "
                f"features is {self.features}, got {getattr(out, 'shape', type(out).__name__)}."
            )
        return self.module


class ConvolutionalLayer(eqx.Module):
    """A convolution and a nonlinear function."""

    kernel: Float[Array, "*reach inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Float[Array, "*places inputs"], stride: int) -> Array:
        """The values at every place, or at every second one."""
        x = _convolved(x, self.kernel, stride)
        return jax.nn.silu(x + jnp.expand_dims(self.bias, range(x.ndim - 1)))


class ConvolutionalNetwork(eqx.Module):
    """Layers of convolutions, their averages and last values, and a perceptron of these."""

    layers: tuple[ConvolutionalLayer, ...]
    whole: eqx.nn.MLP

    def __call__(self, x: Float[Array, "*places channels"]) -> Float[Array, " features"]:
        """Embed one observation."""
        averages = []
        for number, layer in enumerate(self.layers):
            x = layer(x, 1 if number == 0 and _is_short(x.shape[:-1]) else 2)
            averages.append(jnp.mean(x, axis=range(x.ndim - 1)))
        return self.whole(jnp.concatenate([*averages, x.ravel()]))


def _convolved(x: Array, kernel: Array, stride: int) -> Array:
    """A convolution as one product of neighbourhoods and kernel.

    A gradient step of XLA's own convolution takes five (series of 50 points) to seven times
    (images of 28 x 28) as long on a CPU.
    """
    *reach, inputs, outputs = kernel.shape
    padded = jnp.pad(x, [((n - 1) // 2, n // 2) for n in reach] + [(0, 0)])
    shifts = itertools.product(*(range(n) for n in reach))
    windows = [
        tuple(slice(i, i + n, stride) for i, n in zip(shift, x.shape[:-1], strict=True))
        for shift in shifts
    ]
    neighbours = jnp.concatenate([padded[window] for window in windows], axis=-1)
    return neighbours @ kernel.reshape(math.prod(reach) * inputs, outputs)


def _network(
    key: Key[Array, ""], shape: tuple[int, ...], kind: SeriesEmbedding | ImageEmbedding
) -> ConvolutionalNetwork:
    *places, inputs = shape
    axes, rng = len(places), generator(key)
    layers, total = [], 0
    while True:
        reach = (_REACH[axes],) * axes
        fan_in = math.prod(reach) * inputs
        kernel = uniform_weights(rng, (*reach, inputs, kind.channels), fan_in)
        layers.append(ConvolutionalLayer(kernel, jnp.zeros(kind.channels)))
        inputs, total = kind.channels, total + kind.channels
        if len(layers) > 1 or not _is_short(places):
            places = [-(-place // 2) for place in places]
        if max(places) <= _SMALL:
            break
    total += math.prod(places) * kind.channels
    whole = perceptron(jax.random.fold_in(key, 1), total, kind.features, kind.width, 2)
    return ConvolutionalNetwork(tuple(layers), whole)


def _is_short(places: Any) -> bool:
    """Whether a first layer at all places costs little."""
    return math.prod(places) <= _FEW


def _check_sizes(kind: SeriesEmbedding | ImageEmbedding) -> None:
    for name in ("features", "channels", "width"):
        check_integer(name, getattr(kind, name), at_least=1)
