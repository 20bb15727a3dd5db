"""Probabilities of categories given a vector."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.conditional_flow import moved
from pliant.densities.weights import perceptron, zeroed


class ConditionalCategories(eqx.Module):
    """p(k | c): the softmax of a perceptron plus a linear function.

    Args:
        key: For the weights; all categories start with the same probability.
        categories: How many there are.
        condition_dim: The length of the condition.
        width: Units in each of the two hidden layers.
    """

    mlp: eqx.nn.MLP
    linear: eqx.nn.Linear
    categories: int = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], *, categories: int, condition_dim: int, width: int):
        mlp = perceptron(key, condition_dim, categories, width, 2)
        self.mlp = eqx.tree_at(lambda mlp: mlp.layers[-1], mlp, replace_fn=zeroed)
        key = jax.random.key(0)
        shapes = eqx.filter_eval_shape(eqx.nn.Linear, condition_dim, categories, key=key)
        self.linear = zeroed(shapes)
        self.categories = categories

    def log_prob(
        self,
        one_hot: Float[Array, "categories B"],
        condition: Float[Array, "condition_dim #B"],
    ) -> Float[Array, " B"]:
        """Log probabilities of ``B`` categories, each given its own condition, or all given one."""
        logits = jax.vmap(lambda c: self.mlp(c) + self.linear(c), in_axes=1, out_axes=1)(condition)
        return jnp.sum(one_hot * jax.nn.log_softmax(logits, axis=0), axis=0)

    def with_condition(
        self, matrix: Float[Array, "c c"], offset: Float[Array, " c"]
    ) -> "ConditionalCategories":
        """The probabilities whose value at ``c`` is this one's at ``matrix @ c + offset``."""
        return eqx.tree_at(
            lambda head: (head.mlp.layers[0], head.linear),
            self,
            (moved(self.mlp.layers[0], matrix, offset), moved(self.linear, matrix, offset)),
        )
