"""How unlike simulated draws an observation is, where no likelihood was learned."""

import numpy as np
from jaxtyping import Float

from pliant.diagnosis.evidence import Evidence, scaled_points

_WIDTH = 0.5  # of the kernel, in standard deviations of a feature
_MOST = 2000  # simulated draws that others are compared with
_ROWS = 256  # draws that are compared at a time


def similarities(
    evidence: Evidence,
) -> tuple[Float[np.ndarray, "R N"], Float[np.ndarray, "1 N"]]:
    """Minus the log of a kernel density of simulated draws, at simulated draws and observations.

    The density is that of half of the simulated draws, which then have no value of their own (NaN).
    Conditions and gaps are part of a draw, so that it is compared with draws that were made
    alike.
    """
    observed, rows = scaled_points(evidence.problem, evidence.sets)
    ok, half = np.asarray(evidence.sets.ok), len(rows) // 2
    centres = rows[:half][ok[:half]]
    centres = centres[np.random.default_rng(0).permutation(len(centres))[:_MOST]]
    width = _WIDTH * rows.shape[-1] ** 0.5

    def loss(x: np.ndarray) -> np.ndarray:
        starts = range(0, len(x), _ROWS)
        return np.concatenate([_loss(x[i : i + _ROWS], centres, width) for i in starts])

    own = np.full(ok.shape, np.nan)
    own[half:][ok[half:]] = loss(rows[half:][ok[half:]])
    return own, loss(observed)[None]


def _loss(x: np.ndarray, centres: np.ndarray, width: float) -> np.ndarray:
    """Minus the log density; far from all centres, half the squared distance to the nearest."""
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(centres**2, axis=1)[None]
    distance = np.maximum(squares - 2 * x @ centres.T, 0.0) / (2 * width**2)
    nearest = distance.min(axis=1)
    return nearest - np.log(np.mean(np.exp(nearest[:, None] - distance), axis=1))
