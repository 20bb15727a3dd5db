"""Weighted particles as densities: smoothed by Gaussians, and as a sampler's posterior."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._importance import effective_sample_size, normalise
from pliant.densities.base import AbstractDensity
from pliant.densities.gaussian import weighted_moments

_BLOCK = 256  # points that are compared with all K centres at a time


class KernelMixture(AbstractDensity):
    """``sum_j w_j N(z; z_j, L L^T)``."""

    z: Float[Array, "K dim"]
    weights: Float[Array, " K"]
    """They sum to one; some can be zero."""
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
        white = self._whiten(self.z - centre[None])
        log_weights = jnp.log(self.weights)

        def one(point: Float[Array, " dim"]) -> Float[Array, ""]:
            return jax.nn.logsumexp(log_weights - 0.5 * jnp.sum((point[None] - white) ** 2, axis=1))

        log_det = jnp.sum(jnp.log(jnp.diag(self.cholesky)))
        constant = 0.5 * self.dim * jnp.log(2 * jnp.pi) + log_det
        return jax.lax.map(one, self._whiten(z - centre[None]), batch_size=_BLOCK) - constant

    def _whiten(self, z: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
        return jax.scipy.linalg.solve_triangular(self.cholesky, z.T, lower=True).T


class ParticleDensity(AbstractDensity):
    """Samples are the particles themselves; the density is that of the particles, smoothed.

    ``sample`` draws particles by their weights and adds no noise: the samples keep the moments and
    quantiles of the particles, and contain duplicates. ``log_prob`` is that of a kernel estimate: a
    Gaussian around every particle with ``f^2`` times the weighted covariance, where
    ``f = ESS^(-1 / (dim + 4))`` is Scott's factor. The estimate is wider than the particles by the
    factor ``sqrt(1 + f^2)``: 1.10 for 1000 particles in five dimensions.
    """

    smooth: KernelMixture

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.smooth.dim

    @property
    def z(self) -> Float[Array, "K dim"]:
        """The particles."""
        return self.smooth.z

    @property
    def weights(self) -> Float[Array, " K"]:
        """The particles' weights, which sum to one; some can be zero."""
        return self.smooth.weights

    @property
    def ess(self) -> Float[Array, ""]:
        """The effective sample size of the weights, ``1 / sum(w^2)``."""
        return 1 / jnp.sum(self.weights**2)

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws of the particles, not smoothed."""
        return self.smooth.resample(key, n)

    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points under the kernel estimate."""
        return self.smooth.log_prob(z)


def particle_density(
    z: Float[np.ndarray, "K dim"], log_weights: Float[np.ndarray, " K"]
) -> ParticleDensity:
    """The density of weighted particles.

    Args:
        z: The particles.
        log_weights: Their log-weights, up to a constant; ``-inf`` for particles without weight.
    """
    dim = z.shape[1]
    _, covariance = weighted_moments(z, log_weights)
    factor = effective_sample_size(log_weights) ** (-1 / (dim + 4))
    return ParticleDensity(
        KernelMixture(
            z=jnp.asarray(z, float),
            weights=jnp.asarray(normalise(log_weights), float),
            cholesky=jnp.asarray(factor * np.linalg.cholesky(covariance), float),
        )
    )
