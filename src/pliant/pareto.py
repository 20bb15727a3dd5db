"""Pareto-smoothed importance weights (Vehtari et al. 2024), and what their tail tells."""

import numpy as np
from jaxtyping import Float

_FEWEST = 5  # weights in the tail that a fit needs
_PRIOR_SHAPE, _PRIOR_SIZE = 0.5, 10  # the weak prior of the tail's shape


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
    shape, scale = _fit_tail(above[above > 0])
    place = (np.arange(n_tail) + 0.5) / n_tail
    smoothed = log_w.copy()
    smoothed[tail] = np.minimum(np.log(np.exp(cutoff) + _quantile(place, shape, scale)), 0.0)
    return smoothed, shape


def _fit_tail(x: Float[np.ndarray, " n"]) -> tuple[float, float]:
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
