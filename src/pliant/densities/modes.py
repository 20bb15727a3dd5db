"""Modes of a density that are clearly apart, found in its samples."""

import numpy as np
from jaxtyping import Float, Int
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import KDTree
from scipy.special import softmax

from pliant._importance import effective_sample_size

_GAP = 4.0  # typical distances between neighbours that separate modes
_SMALLEST = 0.02  # share of the draws that makes a mode
_INSIDE = 0.2  # share of the draws in the interval that they are measured by
_CLUSTERED = 1000  # weighted samples in which modes are looked for
_FEWEST = 200  # different ones, for modes to be told from chance
LEAST_ESS = 50.0  # of a mode, for it to be fitted by itself


def find_modes(z: Float[np.ndarray, "K dim"]) -> Int[np.ndarray, " K"]:
    """To which mode each draw belongs, counted from zero; -1 for draws between modes.

    Modes are groups that no chain of neighbours connects: their distance is several times that of
    neighbours at the edge of a group. Draws are measured by the width of a mode.
    """
    joined = linkage(_scaled(z), "single")
    typical = np.quantile(joined[:, 2], 0.95)
    labels = fcluster(joined, _GAP * typical, "distance")
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes >= _SMALLEST * len(z))
    number = np.full(len(sizes), -1)
    number[large[np.argsort(-sizes[large])]] = np.arange(len(large))
    return number[labels]


def weighted_modes(
    rng: np.random.Generator,
    z: Float[np.ndarray, "K dim"],
    log_weights: Float[np.ndarray, " K"],
) -> Int[np.ndarray, " K"]:
    """To which mode each weighted sample belongs, all zero if there is only one.

    Samples between modes belong to the nearest one, and so do those of a mode with little weight.
    """
    weights, one = softmax(np.asarray(log_weights, np.float64)), np.zeros(len(z), int)
    some = np.unique(rng.choice(len(z), _CLUSTERED, p=weights))
    if len(some) < _FEWEST:
        return one
    found = find_modes(z[some])
    labels = _of_nearest(z, some, found)
    sizes = [effective_sample_size(log_weights[labels == m]) for m in range(found.max() + 1)]
    large = np.flatnonzero(np.array(sizes) >= LEAST_ESS)
    if len(large) < 2:
        return one
    number = np.full(found.max() + 2, -1)  # the last is that of draws between modes
    number[large] = np.arange(len(large))
    return _of_nearest(z, some, number[found])


def _of_nearest(z: np.ndarray, some: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each sample, the label of the nearest one of those that have a label."""
    scaled, known = _scaled(z), labels >= 0
    if not np.any(known):
        return np.zeros(len(z), int)
    return labels[known][KDTree(scaled[some[known]]).query(scaled)[1]]


def _scaled(z: Float[np.ndarray, "K dim"]) -> Float[np.ndarray, "K dim"]:
    """In units of the shortest interval with a fifth of the draws.

    It is as wide as a single mode. The deviation from the median may be as wide as the distance
    between modes, which then looks small beside the width of the other parameters.
    """
    inside, ordered = max(1, int(_INSIDE * len(z))), np.sort(z, axis=0)
    width = np.min(ordered[inside:] - ordered[:-inside], axis=0) if inside < len(z) else 0.0
    return z / np.where(width > 0, width, 1.0)
