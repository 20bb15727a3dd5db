"""The log-weights of a round, from prior, proposal, distance and bandwidth."""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel


class Tempering(eqx.Module):
    """How much of the pseudo-likelihood, and of the prior's correction, a round applies.

    The paper's path has ``power = 1 / (1 + eta)`` and ``bandwidth = (1 + eta) beta``, so
    that prior, proposal and pseudo-likelihood are tempered together (eq. 7).
    """

    power: float
    """The exponent of ``p(theta) / q(theta)``."""
    bandwidth: float
    """beta_t: the pseudo-likelihood is ``kernel(D, beta_t)``."""
    level: float
    """How much of the pseudo-likelihood the posterior has taken in so far, from 0 to 1."""


def full_tempering(bandwidth: float, beta: float) -> Tempering:
    """Weights ``p L / q`` in full, after which the posterior has taken in ``beta / bandwidth``."""
    return Tempering(power=1.0, bandwidth=bandwidth, level=beta / bandwidth)


def log_weights(
    particles: Particles, kernel: AbstractKernel, tempering: Tempering, beta: float
) -> Float[np.ndarray, " K"]:
    """Log-weights of eq. 11, ``power (log p - log q) + log kernel(D, beta_t)``.

    The partition function belongs to the target bandwidth ``beta``, so its power is
    ``beta / beta_t``. Particles without a distance get ``-inf``. Base weights are added.
    """
    correction = tempering.power * (particles.log_prior - particles.log_q)
    likelihood = kernel.log_value(particles.distance, tempering.bandwidth)
    log_w = correction + likelihood - particles.log_partition * (beta / tempering.bandwidth)
    return log_w if particles.log_base is None else log_w + particles.log_base
