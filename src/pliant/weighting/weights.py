"""The log-weights of a round, from prior, proposal, distance and bandwidth."""

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from pliant._importance import effective_sample_size
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


def contained(particles: Particles, kernel: AbstractKernel, beta: float) -> Tempering:
    """How much of the pseudo-likelihood draws of an unknown posterior contain.

    The level at which their weights ``p L^level / q`` have the largest effective sample size.
    """

    def lost(log_level: float) -> float:
        tempering = full_tempering(beta / np.exp(log_level), beta)
        return -effective_sample_size(log_weights(particles, kernel, tempering, beta))

    levels = np.linspace(np.log(_LEAST), 0.0, 40)
    best = int(np.argmin([lost(level) for level in levels]))
    bounds = levels[max(best - 1, 0)], levels[min(best + 1, len(levels) - 1)]
    found = minimize_scalar(lost, bounds=bounds, method="bounded", options={"xatol": 0.01})
    return full_tempering(float(beta / np.exp(found.x)), beta)


_LEAST = 1e-6  # of the pseudo-likelihood
