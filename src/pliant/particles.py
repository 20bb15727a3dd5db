"""The particles of one round: parameters, their densities and distances; effective sample size."""

import math

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp


class Particles(eqx.Module):
    """What one round knows of its K parameters, in double precision.

    The proposal's log q is computed once, when the parameters are drawn, and travels
    with them; in round one it is the prior's.
    """

    z: Float[np.ndarray, "K dim"]
    log_prior: Float[np.ndarray, " K"]
    log_q: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    """D(observed, simulated); infinite where too few draws are usable."""
    log_partition: Float[np.ndarray, " K"]
    """log Z(theta) of eq. 7; zero where it is taken as constant."""
    log_base: Float[np.ndarray, " K"] | None = None
    """Log-weights with which the parameters stand for the proposal; None if they were drawn
    from it, all alike."""


def normalise(log_weights: Float[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """Weights that add up to one."""
    top = np.max(log_weights)
    if not np.isfinite(top):
        raise FloatingPointError("no particle has a finite log-weight")
    weights = np.exp(log_weights - top)
    return weights / weights.sum()


def effective_sample_size(log_weights: Float[np.ndarray, " K"]) -> float:
    """``1 / sum(w^2)`` of the normalised weights: K if all are equal, 1 if one has everything.

    Zero if no particle has any weight.
    """
    if not np.any(np.isfinite(log_weights)):
        return 0.0
    return float(1 / np.sum(normalise(log_weights) ** 2))


def divergence_from_uniform(
    log_weights: Float[np.ndarray, " K"], log_base: Float[np.ndarray, " K"] | None = None
) -> float:
    """``sum w log(K w)``: the KL of the weighted particles from the proposal.

    It is ``log K`` if one particle has everything, and if no particle has any weight. With base
    weights b, which the particles stand for the proposal with, it is ``sum w log(w / b)``.
    """
    if not np.any(np.isfinite(log_weights)):
        return math.log(len(log_weights))
    log_base = np.zeros(len(log_weights)) if log_base is None else log_base
    kept = np.isfinite(log_weights)
    log_w, log_b = log_weights[kept] - logsumexp(log_weights), log_base[kept] - logsumexp(log_base)
    return float(np.sum(np.exp(log_w) * (log_w - log_b)))
