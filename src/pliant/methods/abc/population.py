"""The population of a particle sampler: parameters that carry a distance and a weight."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._importance import effective_sample_size, normalise
from pliant.densities.gaussian import weighted_moments
from pliant.densities.particles import ParticleDensity, particle_density


class Population(eqx.Module):
    """K particles of the ABC posterior at one bandwidth, in double precision."""

    z: Float[np.ndarray, "K dim"]
    log_prior: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    """D(observed, simulated), of the set that the particle was accepted with."""
    log_weights: Float[np.ndarray, " K"]
    """``-inf`` for a particle that is dead."""
    bandwidth: float
    """h: the population approximates ``p(theta) E[k(D, h) | theta]``."""

    @property
    def alive(self) -> np.ndarray:
        """Which particles have any weight."""
        return np.isfinite(self.log_weights)

    @property
    def ess(self) -> float:
        """The effective sample size."""
        return effective_sample_size(self.log_weights)

    @property
    def unique(self) -> int:
        """How many different particles are alive: resampling makes copies, moves undo them."""
        return len(np.unique(self.z[self.alive], axis=0))

    def density(self) -> ParticleDensity:
        """The population as a posterior."""
        return particle_density(self.z, self.log_weights)


def resampled(key: Key[Array, ""], population: Population) -> Population:
    """As many particles of equal weight, by systematic resampling.

    Particle k appears ``floor(K w_k)`` or ``ceil(K w_k)`` times.
    """
    n = len(population.z)
    points = (np.arange(n) + float(jax.random.uniform(key))) / n
    edges = np.cumsum(normalise(population.log_weights))
    chosen = np.searchsorted(edges / edges[-1], points, side="right")
    return dataclasses.replace(
        population,
        z=population.z[chosen],
        log_prior=population.log_prior[chosen],
        distance=population.distance[chosen],
        log_weights=np.zeros(n),
    )


def walk_cholesky(population: Population) -> Float[np.ndarray, "dim dim"]:
    """The factor of the random walk's covariance: twice the weighted one of the particles.

    Beaumont et al. (2009) show that this brings perturbed particles closest, in KL divergence,
    to the next target.
    """
    _, covariance = weighted_moments(population.z, population.log_weights)
    return np.linalg.cholesky(2 * covariance)


def perturbed(key: Key[Array, ""], population: Population) -> Float[Array, "K dim"]:
    """One step of the random walk from every particle."""
    noise = np.asarray(jax.random.normal(key, population.z.shape), np.float64)
    return jnp.asarray(population.z + noise @ walk_cholesky(population).T, float)
