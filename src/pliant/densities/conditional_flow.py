"""A density of y given a vector: an amortised Gaussian, transformed by coupling splines."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.coupling import CouplingFlow

_FULL = 20  # up to this dimension the Gaussian has correlations


class GaussianHead(eqx.Module):
    """Mean and inverse Cholesky factor of a Gaussian, each computed from a condition.

    A perceptron, plus a linear function for the mean: data often shift in proportion to a
    parameter, and a small error of the shift moves a posterior of many observations.
    """

    mlp: eqx.nn.MLP
    linear: eqx.nn.Linear

    def __init__(
        self, key: Key[Array, ""], *, dim: int, condition_dim: int, width: int, depth: int
    ):
        mlp_key, linear_key = jax.random.split(key)
        outputs = 2 * dim + (dim * (dim - 1) // 2 if dim <= _FULL else 0)
        mlp = eqx.nn.MLP(condition_dim, outputs, width, depth, jax.nn.silu, key=mlp_key)
        self.mlp = eqx.tree_at(
            lambda mlp: (mlp.layers[-1].weight, mlp.layers[-1].bias), mlp, replace_fn=jnp.zeros_like
        )
        linear = eqx.nn.Linear(condition_dim, dim, key=linear_key)
        self.linear = jax.tree.map(jnp.zeros_like, linear)

    def __call__(self, condition: Float[Array, "condition_dim B"]) -> tuple[Array, Array, Array]:
        """Means, log diagonals and the entries below the diagonal, with the batch last."""
        raw = jax.vmap(self.mlp, in_axes=1, out_axes=1)(condition)
        shift = jax.vmap(self.linear, in_axes=1, out_axes=1)(condition)
        dim = len(shift)
        return raw[:dim] + shift, raw[dim : 2 * dim], raw[2 * dim :]

    def with_condition(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "GaussianHead":
        """The head whose value at ``c`` is this one's at ``factor * c + shift``."""
        return eqx.tree_at(
            lambda head: (head.mlp.layers[0], head.linear),
            self,
            (_moved(self.mlp.layers[0], factor, shift), _moved(self.linear, factor, shift)),
        )


def _moved(layer: Any, factor: Float[Array, " c"], shift: Float[Array, " c"]) -> eqx.nn.Linear:
    """The layer whose value at ``c`` is this one's at ``factor * c + shift``."""
    return eqx.tree_at(
        lambda linear: (linear.weight, linear.bias),
        layer,
        (layer.weight * factor[None], layer.bias + layer.weight @ shift),
    )


class ConditionalFlow(eqx.Module):
    """q(y | c): ``flow(A(c) (y - m(c)), c)`` is standard normal.

    A is lower triangular. The first layer alone is a Gaussian whose mean and covariance a network
    computes from the condition, which can represent a posterior a hundred times narrower than the
    prior; splines on a fixed interval cannot. Above 20 dimensions A is diagonal.

    Args:
        key: For the weights; the density starts as a standard normal.
        dim: The dimension of y.
        condition_dim: The length of the condition.
        layers: Coupling layers; none for a Gaussian.
        bins: Bins of each spline.
        width: Units in each hidden layer of every network.
        depth: Hidden layers of every network.
    """

    head: GaussianHead
    flow: CouplingFlow
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        *,
        dim: int,
        condition_dim: int,
        layers: int,
        bins: int,
        width: int,
        depth: int = 2,
    ):
        head_key, flow_key = jax.random.split(key)
        self.head = GaussianHead(
            head_key, dim=dim, condition_dim=condition_dim, width=width, depth=depth
        )
        self.flow = CouplingFlow(
            flow_key,
            dim=dim,
            condition_dim=condition_dim,
            layers=layers,
            bins=bins,
            width=width,
            depth=depth,
        )
        self.dim = dim

    def log_prob(
        self, y: Float[Array, "dim B"], condition: Float[Array, "condition_dim B"]
    ) -> Float[Array, " B"]:
        """Log densities of ``B`` points, each given its own condition."""
        mean, log_diagonal, below = self._gaussian(condition)
        centred = y - mean
        x = jnp.exp(log_diagonal) * centred
        if below is not None:
            x = x + jnp.einsum("ijb,jb->ib", below, centred)
        noise, log_det = self.flow.forward(x, condition)
        log_det = log_det + jnp.sum(log_diagonal, axis=0)
        return log_det - 0.5 * jnp.sum(noise**2, axis=0) - 0.5 * self.dim * jnp.log(2 * jnp.pi)

    def sample(
        self, key: Key[Array, ""], condition: Float[Array, "condition_dim B"]
    ) -> Float[Array, "dim B"]:
        """One draw for each condition."""
        noise = jax.random.normal(key, (self.dim, condition.shape[1]))
        x, _ = self.flow.inverse(noise, condition)
        mean, log_diagonal, below = self._gaussian(condition)
        if below is None:
            return mean + x * jnp.exp(-log_diagonal)
        matrices = jnp.moveaxis(below, -1, 0) + jax.vmap(jnp.diag, 1)(jnp.exp(log_diagonal))
        solve = jax.vmap(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))
        return mean + solve(matrices, x.T).T

    def with_condition(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "ConditionalFlow":
        """The density whose value at ``c`` is this one's at ``factor * c + shift``."""
        kept = self.dim // 2
        hidden = self.flow.hidden_1
        condition = hidden[:, :, kept:]
        return eqx.tree_at(
            lambda f: (f.head, f.flow.hidden_1, f.flow.bias_1),
            self,
            (
                self.head.with_condition(factor, shift),
                jnp.concatenate([hidden[:, :, :kept], condition * factor[None, None]], axis=2),
                self.flow.bias_1 + (condition @ shift)[:, :, None],
            ),
        )

    def _gaussian(self, condition: Array) -> tuple[Array, Array, Array | None]:
        """Mean, log diagonal and the part below the diagonal of A, with the batch last."""
        mean, log_diagonal, rest = self.head(condition)
        if self.dim > _FULL:
            return mean, log_diagonal, None
        rows, columns = jnp.tril_indices(self.dim, -1)
        below = jnp.zeros((self.dim, self.dim, mean.shape[1])).at[rows, columns].set(rest)
        return mean, log_diagonal, below
