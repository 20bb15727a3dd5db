"""A Gaussian around every one of weighted points: perturbed particles, and their density."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.families.base import AbstractDensity

_BLOCK = 256  # points that are compared with all K centres at a time


class KernelMixture(AbstractDensity):
    """``sum_j w_j N(z; z_j, L L^T)``."""

    z: Float[Array, "K dim"]
    weights: Float[Array, " K"]
    """They add up to one; some can be zero."""
    cholesky: Float[Array, "dim dim"]

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.z.shape[1]

    def resample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws of the points by their weights."""
        return self.z[jax.random.choice(key, len(self.z), (n,), p=self.weights)]

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws: a point by its weight, and noise around it."""
        point_key, noise_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (n, self.dim))
        return self.resample(point_key, n) + noise @ self.cholesky.T

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        centre = self.weights @ self.z
        white = self._whiten(self.z - centre)
        log_weights = jnp.log(self.weights)

        def one(point: Float[Array, " dim"]) -> Float[Array, ""]:
            return jax.nn.logsumexp(log_weights - 0.5 * jnp.sum((point - white) ** 2, axis=1))

        log_det = jnp.sum(jnp.log(jnp.diag(self.cholesky)))
        constant = 0.5 * self.dim * jnp.log(2 * jnp.pi) + log_det
        return jax.lax.map(one, self._whiten(z - centre), batch_size=_BLOCK) - constant

    def _whiten(self, z: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
        return jax.scipy.linalg.solve_triangular(self.cholesky, z.T, lower=True).T
