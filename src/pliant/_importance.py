"""Importance weights: normalising, effective sample size, KL, and Pareto smoothing."""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

_FEWEST = 5  # weights in the tail that a fit needs
_PRIOR_SHAPE, _PRIOR_SIZE = 0.5, 10  # the weak prior of the tail's shape


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


def smooth_weights(
    log_weights: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], float]:
    """Replace the largest weights by the quantiles of a generalised Pareto fitted to them.

    Returns:
        Log-weights whose largest is zero or less, and k-hat, the shape of the tail: below 0.5 the
        weights have a finite variance, above 0.7 averages over them cannot be trusted. It is
        infinite if fewer than five weights are in the tail, and minus infinite if all weights
        are the same.
    """
    log_w = np.asarray(log_weights, np.float64) - np.max(log_weights)
    n = len(log_w)
    n_tail = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    order = np.argsort(log_w)
    tail = order[n - n_tail :]
    if n_tail < _FEWEST:
        return log_w, np.inf
    cutoff = max(log_w[order[n - n_tail - 1]], np.log(np.finfo(float).tiny))
    above = np.exp(log_w[tail]) - np.exp(cutoff)
    if above[-1] == 0:
        return log_w, -np.inf
    if np.sum(above > 0) < _FEWEST:
        return log_w, np.inf
    shape, scale = fit_tail(above[above > 0])
    place = (np.arange(n_tail) + 0.5) / n_tail
    smoothed = log_w.copy()
    smoothed[tail] = np.minimum(np.log(np.exp(cutoff) + _quantile(place, shape, scale)), 0.0)
    return smoothed, shape


def fit_tail(x: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto, for sorted x > 0 (Zhang and Stephens 2009).

    The mean of the profile posterior over a grid of ``b = -k / scale``, the shape then drawn
    towards one half by a prior worth ten observations.
    """
    n = len(x)
    n_grid = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    b = 1 / x[-1] + (1 - np.sqrt(n_grid / (np.arange(n_grid) + 0.5))) / (3 * quartile)
    shapes = np.mean(np.log1p(-b[:, None] * x), axis=1)
    log_profile = n * (np.log(-b / shapes) - shapes - 1)
    posterior = np.exp(log_profile - log_profile.max())
    b_mean = np.sum(b * posterior) / posterior.sum()
    shape = np.mean(np.log1p(-b_mean * x))
    scale = -shape / b_mean
    return float((n * shape + _PRIOR_SIZE * _PRIOR_SHAPE) / (n + _PRIOR_SIZE)), float(scale)


def _quantile(p: Float[np.ndarray, " n"], shape: float, scale: float) -> Float[np.ndarray, " n"]:
    if abs(shape) < 1e-12:
        return -scale * np.log1p(-p)
    return scale * np.expm1(-shape * np.log1p(-p)) / shape
