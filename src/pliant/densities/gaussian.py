"""The Gaussian family."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance
from pliant.densities.base import AbstractModel, AbstractModelFamily
from pliant.densities.training import Training


class GaussianDensity(AbstractModel):
    """N(mean, L L^T); L has ``exp(log_diagonal)`` on its diagonal, and ``below`` under it."""

    mean: Float[Array, " dim"]
    log_diagonal: Float[Array, " dim"]
    below: Float[Array, "dim dim"]

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.mean.shape[0]

    @property
    def cholesky(self) -> Float[Array, "dim dim"]:
        """The factor L."""
        return jnp.tril(self.below, -1) + jnp.diag(jnp.exp(self.log_diagonal))

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        return self.draw(key, n)[0]

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[Array, "n dim"], Float[Array, " n"]]:
        """``mean + L noise``, all of weight one."""
        noise = jax.random.normal(key, (n, self.dim))
        return self.mean[None] + noise @ self.cholesky.T, jnp.zeros(n)

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        centred = z - self.mean[None]
        white = jax.scipy.linalg.solve_triangular(self.cholesky, centred.T, lower=True)
        constant = 0.5 * self.dim * jnp.log(2 * jnp.pi) + jnp.sum(self.log_diagonal)
        return -0.5 * jnp.sum(white**2, axis=0) - constant

    def stretched(self, factor: float) -> "GaussianDensity":
        """With the factor ``factor L``."""
        wide = self.log_diagonal + jnp.log(factor)
        return GaussianDensity(self.mean, wide, factor * self.below)


class Gaussian(AbstractModelFamily):
    """q is one Gaussian with a full covariance, fitted in closed form.

    Args:
        reverse_training: How the i-projection is trained.
    """

    reverse_training: Training = Training(steps=500, rate=1e-2)

    def __check_init__(self):
        check_instance("reverse_training", self.reverse_training, Training, "pliant.Training()")

    def fit(
        self,
        key: Key[Array, ""],
        z: Float[Array, "K dim"],
        log_weights: Float[Array, " K"],
        init: AbstractModel | None = None,
    ) -> tuple[GaussianDensity, dict[str, Any]]:
        """The weighted mean and covariance; ``key`` and ``init`` are not used."""
        return gaussian_from_moments(*weighted_moments(z, log_weights)), {}


def gaussian_kl(q: GaussianDensity, p: GaussianDensity) -> Float[Array, ""]:
    """KL(q || p) of two Gaussians."""
    white = jax.scipy.linalg.solve_triangular(p.cholesky, q.cholesky, lower=True)
    shift = jax.scipy.linalg.solve_triangular(p.cholesky, q.mean - p.mean, lower=True)
    log_det = jnp.sum(p.log_diagonal - q.log_diagonal)
    return 0.5 * (jnp.sum(white**2) + jnp.sum(shift**2) - q.dim) + log_det


def weighted_moments(
    z: Array | np.ndarray, log_weights: Array | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of weighted samples, in double precision.

    If there are few effective samples for the dimension, the covariance is shrunk towards its
    diagonal and stays invertible.
    """
    points = np.asarray(z, np.float64)
    log_w = np.asarray(log_weights, np.float64)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    mean = w @ points
    centred = points - mean
    ess = 1 / np.sum(w**2)
    covariance = (centred * w[:, None]).T @ centred / max(1 - 1 / ess, 0.5)
    shrinkage = min(1.0, points.shape[1] / ess)
    diagonal = np.diag(np.diag(covariance) + 1e-12)
    return mean, (1 - shrinkage) * covariance + shrinkage * diagonal


def gaussian_from_moments(mean: np.ndarray, covariance: np.ndarray) -> GaussianDensity:
    """The Gaussian with this mean and covariance."""
    factor = np.linalg.cholesky(covariance)
    return GaussianDensity(
        mean=jnp.asarray(mean, float),
        log_diagonal=jnp.asarray(np.log(np.diag(factor)), float),
        below=jnp.asarray(factor, float),
    )
