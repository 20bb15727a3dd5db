"""The bandwidth at which a pseudo-posterior is as wide as its estimate varies.

A distance measures how far data are from a model, not how probable they are, so no fixed
bandwidth gives honest widths. If the N observations were drawn again, the centre of the
pseudo-posterior would move; its width should be that of this movement. The bootstrap
needs no second run for that. With weights w on the observations, the centre moves by
``-Cov(theta, dD/dw_i) / (2 beta)`` for each, and resampled weights have the variance ``1 / N^2``
(the infinitesimal jackknife, Giordano and Broderick 2023).

The covariance is that of parameters together with the sets that were simulated with them, each
weighted by its own distance. Without those weights the sets' noise, which widens the posterior,
would count as movement (in one run with M = 2 N, two thirds more than there was).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components

from pliant._importance import effective_sample_size, normalise
from pliant.densities.mixture import GaussianMixture

_CLUSTERS = GaussianMixture(components=8, iterations=30)  # Gaussians whose clusters are the modes
_CLUSTERED = 500  # draws that they are fitted to
_EMPTY = 0.01  # the share of a Gaussian that has no draws of its own
_SEPARATE = 4.0  # standard deviations between Gaussians of different modes
_MOST_CHANGE = 4.0  # at a time, as a factor: far off, the draws are not yet those of a mode
_DRAWS_PER_DIMENSION = 20  # effective ones in a mode, to know its covariance


def calibrated_bandwidth(
    z: Float[np.ndarray, "S dim"],
    log_weights: Float[np.ndarray, " S"],
    influences: Float[np.ndarray, "S N"],
    beta: float,
) -> float:
    """The bandwidth whose pseudo-posterior has, on average over directions, the bootstrap's width.

    Args:
        z: Parameters.
        log_weights: Those of the pseudo-posterior at ``beta``, from their simulated sets.
        influences: ``dD / dw_i`` of each set's distance, for every observation.
        beta: The bandwidth now.

    Returns:
        The new one, within a factor of four; the same if no mode has enough draws.
    """
    labels, weights = modes(z), normalise(log_weights)
    ratios, shares = [], []
    for label in range(labels.max() + 1):
        inside = labels == label
        if effective_sample_size(log_weights[inside]) > _DRAWS_PER_DIMENSION * z.shape[1]:
            here = (z[inside], log_weights[inside], influences[inside])
            ratios.append(_variance_ratio(*here, beta))
            shares.append(weights[inside].sum())
    if not ratios:
        return beta
    return beta * float(np.clip(np.average(ratios, weights=shares), 1 / _MOST_CHANGE, _MOST_CHANGE))


def modes(z: Float[np.ndarray, "S dim"]) -> Int[np.ndarray, " S"]:
    """To which mode each draw belongs: Gaussians that overlap, directly or by others, are one."""
    some = jnp.asarray(z[:_CLUSTERED], float)
    mixture, _ = _CLUSTERS.fit(jax.random.key(0), some, jnp.zeros(len(some)), None)
    filled = np.asarray(jax.nn.softmax(mixture.logits)) > _EMPTY
    logits, components = jax.tree.map(
        lambda leaf: leaf[filled], (mixture.logits, mixture.components)
    )
    means = np.asarray(components.mean, np.float64)
    factors = np.asarray(jax.vmap(lambda c: c.cholesky)(components), np.float64)
    covariances = factors @ np.swapaxes(factors, 1, 2)
    apart = means[:, None] - means
    sums = covariances[:, None] + covariances
    squared = np.einsum("abi,abi->ab", apart, np.linalg.solve(sums, apart[..., None])[..., 0])
    _, mode = connected_components(squared < _SEPARATE**2)
    log_each = jax.vmap(lambda c: c.log_prob(jnp.asarray(z, float)))(components)
    return mode[np.argmax(np.asarray(logits)[:, None] + np.asarray(log_each), axis=0)]


def _variance_ratio(
    z: Float[np.ndarray, "S dim"],
    log_weights: Float[np.ndarray, " S"],
    influences: Float[np.ndarray, "S N"],
    beta: float,
) -> float:
    """Bootstrap variance of the centre over posterior variance, averaged over directions."""
    dim, n_obs = z.shape[1], influences.shape[1]
    weights = normalise(log_weights)
    z = z - weights @ z
    influences = influences - influences.mean(axis=1, keepdims=True)
    influences = influences - weights @ influences
    covariance = (z.T * weights) @ z
    moves = (z.T * weights) @ influences  # of the centre with each weight, times -2 beta
    slopes = np.linalg.solve(covariance, moves)
    # The draws' noise makes moves of its own, of this covariance.
    residuals = np.sum((influences - z @ slopes) ** 2, axis=1)
    noise = np.trace(np.linalg.solve(covariance, (z.T * weights**2 * residuals) @ z))
    signal = max(np.sum(moves * slopes) - noise, 0.0)
    return signal / (4 * beta**2 * n_obs**2 * dim)
