"""Networks that turn a set of observations, or one long observation, into a short vector."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.densities.weights import perceptron


class AbstractEmbedding(eqx.Module):
    """The kind and the size of an embedding network."""

    features: eqx.AbstractVar[int]
    """The length of the vector."""

    def input_shape(self, event: tuple[int, ...]) -> tuple[int, ...]:
        """The shape in which the network takes an observation: T points of so many numbers.

        Raises:
            ValueError: If such observations do not suit the network.
        """
        return as_points(event)

    @abc.abstractmethod
    def build(self, key: Key[Array, ""], shape: Any) -> Any:
        """A network from arrays of this shape, such as sets ``(N, d)``, to ``(features,)``."""


def as_points(event: tuple[int, ...]) -> tuple[int, int]:
    """An event as points of features: ``(T, ...)`` has T, anything else is one point."""
    if len(event) < 2:
        return 1, math.prod(event)
    return event[0], math.prod(event[1:])


class Concatenation(AbstractEmbedding):
    """A network of the concatenated observations, as in the paper: order matters, N is fixed.

    Args:
        features: The length of the vector.
        width: Units in each of the two hidden layers.
    """

    features: int = eqx.field(static=True, default=32)
    width: int = eqx.field(static=True, default=64)

    def __check_init__(self):
        check_integer("features", self.features, at_least=1)
        check_integer("width", self.width, at_least=1)

    def build(self, key: Key[Array, ""], shape: Any) -> "ConcatenationNetwork":
        """A perceptron on the flattened set."""
        n, d = shape
        return ConcatenationNetwork(perceptron(key, n * d, self.features, self.width, 2))


class ConcatenationNetwork(eqx.Module):
    """A perceptron on a flattened set."""

    whole: eqx.nn.MLP

    def __call__(self, x: Float[Array, "N d"]) -> Float[Array, " features"]:
        """Embed one set."""
        return self.whole(x.ravel())


class DeepSet(AbstractEmbedding):
    """The mean of a network of each observation, then a second network (Zaheer et al. 2017).

    The order of the observations does not matter, and any number of them can be given.

    Args:
        features: The length of the vector.
        width: Units in each of the two hidden layers of both networks.
    """

    features: int = eqx.field(static=True, default=32)
    width: int = eqx.field(static=True, default=64)

    def __check_init__(self):
        check_integer("features", self.features, at_least=1)
        check_integer("width", self.width, at_least=1)

    def build(self, key: Key[Array, ""], shape: Any) -> "DeepSetNetwork":
        """Two perceptrons with a mean in between."""
        point_key, whole_key = jax.random.split(key)
        _, d = shape
        width = self.width
        return DeepSetNetwork(
            point=perceptron(point_key, d, width, width, 2),
            whole=perceptron(whole_key, width + 1, self.features, width, 2),
        )


class DeepSetNetwork(eqx.Module):
    """``whole(mean_i point(x_i), log N)``."""

    point: eqx.nn.MLP
    whole: eqx.nn.MLP

    def __call__(self, x: Float[Array, "N d"]) -> Float[Array, " features"]:
        """Embed one set of any size."""
        mean = jnp.mean(jax.vmap(self.point)(x), axis=0)
        return self.whole(jnp.append(mean, jnp.log(float(len(x)))))
