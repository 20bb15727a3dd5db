"""Random weights of new networks.

Drawn by NumPy: JAX compiles a generator for every new shape, which took four seconds of a run.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key


def uniform_weights(rng: np.random.Generator, shape: tuple[int, ...], inputs: int) -> Array:
    """Weights of a layer with so many inputs, uniform within ``1 / sqrt(inputs)`` of zero."""
    bound = 1 / np.sqrt(max(inputs, 1))
    return jnp.asarray(rng.uniform(-bound, bound, shape), float)


def perceptron(
    key: Key[Array, ""],
    inputs: int,
    outputs: int | str,
    width: int,
    depth: int,
    activation: Callable[[Array], Array] = jax.nn.silu,
) -> eqx.nn.MLP:
    """A new ``equinox`` perceptron of ``depth`` hidden layers."""
    rng = generator(key)
    shapes = eqx.filter_eval_shape(
        eqx.nn.MLP, inputs, outputs, width, depth, activation, key=jax.random.key(0)
    )
    widths = [inputs] + [width] * depth

    def filled(layer: eqx.nn.Linear, n: int) -> eqx.nn.Linear:
        return jax.tree.map(lambda leaf: uniform_weights(rng, leaf.shape, n), layer)

    layers = tuple(filled(layer, n) for layer, n in zip(shapes.layers, widths, strict=True))
    return eqx.tree_at(lambda mlp: mlp.layers, shapes, layers)


def generator(key: Key[Array, ""]) -> np.random.Generator:
    """A NumPy generator whose numbers follow from a key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


def zeroed(layer: eqx.nn.Linear) -> eqx.nn.Linear:
    """The layer with weights of zero."""
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf), layer)
