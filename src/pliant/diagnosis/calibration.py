"""Whether posteriors like this one are right: simulation-based calibration around the posterior.

Parameters are drawn from the posterior q, and each simulates a set. With q as the prior, the
likelihood of that set gives another posterior, in which the rank of the parameter that simulated
the set is uniform if the likelihood is right (posterior SBC, Säilynoja et al. 2025).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import beta, norm

from pliant._importance import normalise
from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level, skipped
from pliant.diagnosis.p_values import LIMIT

LEVELS = 0.5, 0.8, 0.9
"""Of the central intervals whose coverage is told."""

_SHIFT, _FAR = 0.2, 0.5  # standard deviations of the posterior
_WIDTH, _OFF = 1.2, 1.5  # ratio of widths
_OUTERMOST = 5e-4  # rank of a parameter that none of the candidates is below
_FEWEST = 20.0  # effective candidates, below which a rank says little

_REMEDY = (
    "The likelihood that the posterior rests on is wrong in this region. Use more rounds, more "
    "draws (n_draws), or data on another scale (such as logarithms). diagnosis.recalibrated() "
    "corrects a shift and a width."
)


_RERUN_REMEDY = (
    "The method is not right for this problem. Use a learned likelihood (pliant.PLI()), more "
    "rounds, or more draws (n_draws)."
)


class Calibration(NamedTuple):
    """Ranks of true parameters in the posteriors of the sets that they simulated."""

    names: tuple[str, ...]
    ranks: Float[np.ndarray, "R columns"]
    """Between 0 and 1; uniform if the posteriors are right."""
    contraction: Float[np.ndarray, " columns"]
    """r, the variance of these posteriors over that of q, on average: ``1 / (1 + f)`` where the
    data, and not the prior, determine a parameter."""
    share: float
    """f, the size of a simulated set over N."""

    @property
    def shift(self) -> Float[np.ndarray, " columns"]:
        """By how many of its deviations the posterior should be moved.

        Where ranks are ``Phi(m + s n)`` with a normal n, a set of f N draws has moved the mean by
        ``m`` deviations, and N observations have moved that of q by ``m / (f sqrt(r))`` of its
        own; all as for Gaussians.
        """
        return self._scores.mean(axis=0) / (self.share * np.sqrt(self.contraction))

    @property
    def width(self) -> Float[np.ndarray, " columns"]:
        """The width that the posterior should have over the one it has.

        If the likelihood is c times too sharp, ``s^2 = r + (1 - r) c``; all as for Gaussians.
        """
        r = self.contraction
        c = np.maximum((self._scores.var(axis=0) - r) / (1 - r), 0.04)
        precision = 1 + (1 - r) / (r * self.share) * (1 / c - 1)
        return np.maximum(precision, 0.04) ** -0.5

    @property
    def _scores(self) -> Float[np.ndarray, "R columns"]:
        """Normal scores of the ranks."""
        return norm.ppf(np.clip(self.ranks, _OUTERMOST, 1 - _OUTERMOST))

    @property
    def p_values(self) -> Float[np.ndarray, "columns 2"]:
        """Of the ranks' mean and of their mean square, if they were uniform."""
        off = self.ranks - 0.5
        n = len(off)
        mean = off.mean(axis=0) * np.sqrt(12 * n)
        square = (np.mean(off**2, axis=0) - 1 / 12) * np.sqrt(180 * n)
        return 2 * norm.sf(np.abs(np.stack([mean, square], axis=1)))

    def coverage(self) -> Float[np.ndarray, "columns levels 3"]:
        """Per parameter and level: the coverage of central intervals, and its 95 % interval."""
        inside = np.abs(self.ranks - 0.5)[:, :, None] <= np.asarray(LEVELS)[None, None] / 2
        n, hits = len(self.ranks), inside.sum(axis=0)
        low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1), n - hits + 1), 0.0)
        high = np.where(hits < n, beta.ppf(0.975, hits + 1, np.maximum(n - hits, 1)), 1.0)
        return np.stack([hits / n, low, high], axis=2)


def likelihood_calibration(
    evidence: Evidence, values: Float[np.ndarray, "K columns"], names: tuple[str, ...]
) -> Calibration | None:
    """By the likelihood that the run has learned; None if weights are too uneven to rank by.

    Candidates are draws of q, weighted by the likelihood of a simulated set. The draw that
    simulated it is none of its own candidates.
    """
    log_sets = evidence.log_sets
    if log_sets is None or evidence.likelihood is None:
        return None
    log_w = evidence.likelihood.power * log_sets
    candidates = values[: len(log_w)]
    spread = candidates.var(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    ranks, contraction, effective = [], [], []
    for r in range(log_w.shape[1]):
        own = np.arange(len(candidates)) == r
        weights = normalise(np.where(own, -np.inf, log_w[:, r]))
        below = candidates < values[r]
        equal = (candidates == values[r]) & ~own[:, None]
        ranks.append(weights @ (below + 0.5 * equal))
        mean = weights @ candidates
        contraction.append(weights @ (candidates - mean) ** 2 / spread)
        effective.append(1 / np.sum(weights**2))
    if np.median(effective) < _FEWEST:
        return None
    share = evidence.share
    shrunk = np.clip(np.mean(contraction, axis=0), 1 / (1 + share), 0.98)
    return Calibration(names, np.stack(ranks), shrunk, share)


def coordinate_calibration(evidence: Evidence) -> Calibration | None:
    """The same of the unconstrained parameters."""
    names = tuple(f"z[{i}]" for i in range(evidence.z.shape[1]))
    return likelihood_calibration(evidence, evidence.z, names)


def check_calibration(
    calibration: Calibration | None, *, learned: bool, reruns: bool = False
) -> list[Finding]:
    """One finding on all parameters; the worst one decides.

    A posterior of which nobody knows whether it is calibrated is doubtful: one that is several
    times too wide passes every other check of a method that learns nothing.

    Args:
        calibration: The ranks, if there are any.
        learned: Whether a likelihood was learned.
        reruns: Whether whole runs tell instead.
    """
    name = "calibration"
    if calibration is None and learned:
        text = "The posterior is too wide for its likelihood: weights leave too few draws to rank."
        return [Finding(name, Level.DOUBTFUL, text, "Use more rounds.")]
    if calibration is None and reruns:
        return [skipped(name, "Nothing was learned; the reruns tell.")]
    if calibration is None:
        text = "Nothing was learned that tells whether the posterior has the right width."
        remedy = "Pass reruns=100 to find out by runs of their own, or use pliant.PLI()."
        return [Finding(name, Level.DOUBTFUL, text, remedy)]
    return [_finding(name, calibration, "Posteriors of", _REMEDY)]


def check_reruns(calibration: Calibration, failed: int) -> list[Finding]:
    """The same of whole runs."""
    name, n = "reruns", len(calibration.ranks)
    finding = _finding(name, calibration, "Runs on", _RERUN_REMEDY)
    if failed > n / 10:
        text = f"{finding.text} {failed} of the {n} runs ended without success."
        level = Level.DOUBTFUL if finding.level is Level.OK else finding.level
        return [finding._replace(text=text, level=level, remedy=_RERUN_REMEDY)]
    return [finding]


def _finding(name: str, calibration: Calibration, what: str, remedy: str) -> Finding:
    p = calibration.p_values
    shift, width = calibration.shift, calibration.width
    ratio = np.maximum(width, 1 / width)
    small = p < LIMIT / p.size
    shifted = small[:, 0] & (np.abs(shift) > _SHIFT)
    spread = small[:, 1] & (ratio > _WIDTH)
    least, n = min(float(p.min() * p.size), 1.0), len(calibration.ranks)
    if not np.any(shifted | spread):
        text = f"{what} {n} simulated sets are calibrated (p = {least:.2g})."
        return Finding(name, Level.OK, text, "", least, LIMIT)
    bad = np.any(shifted & (np.abs(shift) > _FAR)) or np.any(spread & (ratio > _OFF))
    worst = int(np.argmin(np.where(shifted | spread, p.min(axis=1), np.inf)))
    told = [f"be moved by {shift[worst]:+.2f} standard deviations"] * bool(shifted[worst])
    told += [f"be {width[worst]:.2f} times as wide"] * bool(spread[worst])
    text = (
        f"{what} {n} simulated sets are not calibrated (p = {least:.2g}): "
        f"{calibration.names[worst]} should {' and '.join(told)}."
    )
    return Finding(name, Level.UNSOUND if bad else Level.DOUBTFUL, text, remedy, least, LIMIT)
