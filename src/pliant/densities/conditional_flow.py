"""A density of y given a vector: an amortised Gaussian, transformed by coupling splines."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from pliant.densities.coupling import CouplingFlow, in_turn
from pliant.densities.weights import perceptron, zeroed

_FULL = 20  # up to this dimension the Gaussian has correlations


class GaussianHead(eqx.Module):
    """Mean and inverse Cholesky factor of a Gaussian, each computed from a condition.

    A perceptron, plus a linear function: where a posterior is narrow, mean and log scale of the
    data change in proportion to the parameters, and a small error of that moves a posterior of many
    observations.
    """

    mlp: eqx.nn.MLP
    linear: eqx.nn.Linear
    dim: int = eqx.field(static=True)

    def __init__(
        self, key: Key[Array, ""], *, dim: int, condition_dim: int, width: int, depth: int
    ):
        outputs = 2 * dim + (dim * (dim - 1) // 2 if dim <= _FULL else 0)
        mlp = perceptron(key, condition_dim, outputs, width, depth)
        self.mlp = eqx.tree_at(lambda mlp: mlp.layers[-1], mlp, replace_fn=zeroed)
        key = jax.random.key(0)
        self.linear = zeroed(eqx.filter_eval_shape(eqx.nn.Linear, condition_dim, outputs, key=key))
        self.dim = dim

    def __call__(self, condition: Float[Array, "condition_dim B"]) -> tuple[Array, Array, Array]:
        """Means, log diagonals and the entries below the diagonal, with the batch last."""
        raw = jax.vmap(lambda c: self.mlp(c) + self.linear(c), in_axes=1, out_axes=1)(condition)
        return raw[: self.dim], raw[self.dim : 2 * self.dim], raw[2 * self.dim :]

    def with_condition(
        self, matrix: Float[Array, "c c"], offset: Float[Array, " c"]
    ) -> "GaussianHead":
        """The head whose value at ``c`` is this one's at ``matrix @ c + offset``."""
        return eqx.tree_at(
            lambda head: (head.mlp.layers[0], head.linear),
            self,
            (moved(self.mlp.layers[0], matrix, offset), moved(self.linear, matrix, offset)),
        )


def moved(layer: Any, matrix: Float[Array, "c c"], offset: Float[Array, " c"]) -> Any:
    """The linear layer whose value at ``c`` is that of ``layer`` at ``matrix @ c + offset``."""
    return eqx.tree_at(
        lambda linear: (linear.weight, linear.bias),
        layer,
        (layer.weight @ matrix, layer.bias + layer.weight @ offset),
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
        head_width: Units in each hidden layer of the Gaussian's network, if it has others.
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
        head_width: int | None = None,
    ):
        head_key, flow_key = jax.random.split(key)
        self.head = GaussianHead(
            head_key,
            dim=dim,
            condition_dim=condition_dim,
            width=width if head_width is None else head_width,
            depth=depth,
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

    @property
    def is_gaussian(self) -> bool:
        """Whether there are no splines."""
        return len(self.flow.hidden_1) == 0

    def log_prob(
        self,
        y: Float[Array, "dim B"],
        condition: Float[Array, "condition_dim C"],
        seen: Bool[Array, "dim B"] | None = None,
    ) -> Float[Array, " B"]:
        """Log densities of ``B`` points, which are given the ``C`` conditions in turn.

        So ``C`` divides ``B``, and what a condition alone decides is computed once.

        Where ``seen`` is False a number is unknown, and the density is that of the others: rows
        and columns of unknown numbers are left out of A, and splines do not see them.
        """
        mean, log_diagonal, below = (in_turn(part, y.shape[1]) for part in self.head(condition))
        known = y - mean if seen is None else jnp.where(seen, y - mean, 0.0)
        x = _times_triangle(log_diagonal, below, known)
        n_known = self.dim
        if seen is not None:
            x, log_diagonal = jnp.where(seen, x, 0.0), jnp.where(seen, log_diagonal, 0.0)
            n_known = jnp.sum(seen, axis=0)
        noise, log_det = self.flow.forward(x, condition, seen)
        log_det = log_det + jnp.sum(log_diagonal, axis=0)
        return log_det - 0.5 * jnp.sum(noise**2, axis=0) - 0.5 * n_known * jnp.log(2 * jnp.pi)

    def mean_gaussian_log_prob(
        self,
        mean: Float[Array, "dim B"],
        covariance: Float[Array, "dim dim B"],
        condition: Float[Array, "condition_dim B"],
    ) -> Float[Array, " B"]:
        """Without splines: the mean log density of points with this mean and covariance.

        The mean of ``|A (y - m)|^2`` is ``|A (mean - m)|^2 + tr(A covariance A^T)``.
        """
        centre, log_diagonal, below = self.head(condition)
        x = _times_triangle(log_diagonal, below, mean - centre)
        spread = _times_triangle(log_diagonal[:, None], below[:, None], covariance)
        square = jnp.sum(x**2, axis=0) + _trace_with_triangle(log_diagonal, below, spread)
        log_det = jnp.sum(log_diagonal, axis=0) - 0.5 * self.dim * jnp.log(2 * jnp.pi)
        return log_det - 0.5 * square

    def sample(
        self, key: Key[Array, ""], condition: Float[Array, "condition_dim B"]
    ) -> Float[Array, "dim B"]:
        """One draw for each condition."""
        noise = jax.random.normal(key, (self.dim, condition.shape[1]))
        x, _ = self.flow.inverse(noise, condition)
        mean, log_diagonal, below = self.head(condition)
        if not len(below):
            return mean + x * jnp.exp(-log_diagonal)
        rows, columns = jnp.tril_indices(self.dim, -1)
        matrices = jax.vmap(jnp.diag, 1)(jnp.exp(log_diagonal))
        matrices = matrices.at[:, rows, columns].set(below.T)
        solve = jax.vmap(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))
        return mean + solve(matrices, x.T).T

    def with_condition(
        self, matrix: Float[Array, "c c"], offset: Float[Array, " c"]
    ) -> "ConditionalFlow":
        """The density whose value at ``c`` is this one's at ``matrix @ c + offset``."""
        kept = self.dim // 2
        hidden = self.flow.hidden_1
        condition = hidden[:, :, kept:]
        return eqx.tree_at(
            lambda f: (f.head, f.flow.hidden_1, f.flow.bias_1),
            self,
            (
                self.head.with_condition(matrix, offset),
                jnp.concatenate([hidden[:, :, :kept], condition @ matrix], axis=2),
                self.flow.bias_1 + (condition @ offset)[:, :, None],
            ),
        )


def _times_triangle(log_diagonal: Array, below: Array, y: Array) -> Array:
    """A y, row by row; a matrix would have to be filled first, which takes longer.

    The first axis has the rows of A's diagonal, its entries below, and the dimensions of y.
    """
    x = jnp.exp(log_diagonal) * y
    if not len(below):
        return x
    rows = [jnp.sum(below[row] * y[:i], axis=0) for i, row in enumerate(_rows_below(len(y)))]
    return x + jnp.stack(rows)


def _trace_with_triangle(log_diagonal: Array, below: Array, y: Array) -> Array:
    """``tr(A y^T)`` of square matrices y."""
    diagonal = y[np.arange(len(y)), np.arange(len(y))]
    total = jnp.sum(jnp.exp(log_diagonal) * diagonal, axis=0)
    if not len(below):
        return total
    rows = enumerate(_rows_below(len(y)))
    return total + sum(jnp.sum(below[row] * y[i, :i], axis=0) for i, row in rows)


def _rows_below(dim: int) -> list[slice]:
    """Where the entries below the diagonal of each row are."""
    return [slice(end - i, end) for i, end in enumerate(np.cumsum(np.arange(dim)))]
