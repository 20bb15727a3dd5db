"""What a round of PLI reports: its row of the history, and why a run ends there."""

import numpy as np
from scipy.stats import spearmanr

from pliant._importance import divergence_from_uniform, effective_sample_size, normalise
from pliant.discrepancies.base import Evaluation, Particles
from pliant.methods.base import Stop
from pliant.methods.status import Status
from pliant.weighting.weights import Tempering

_SETTLED = 0.2  # of a parameter's width: a round that changes less has changed nothing


def round_row(
    particles: Particles,
    evaluation: Evaluation,
    tempering: Tempering,
    beta: float,
    log_w: np.ndarray,
) -> dict[str, float | int]:
    """The columns of a round before its fit, as ``History`` describes them.

    Args:
        particles: Those of the round, which particles of earlier rounds may follow.
        evaluation: What the discrepancy found out about the round's particles.
        tempering: What the weights were computed with.
        beta: The target bandwidth.
        log_w: The log-weights of the particles.
    """
    row: dict[str, float | int] = {
        "bandwidth": tempering.bandwidth,
        "eta": tempering.bandwidth / beta - 1,
        "beta": beta,
        "kl": divergence_from_uniform(log_w, particles.log_base),
        "ess": effective_sample_size(log_w),
        **evaluation.row,
    }
    if len(evaluation.log_partition):
        power = beta / tempering.bandwidth
        plain = log_w + power * particles.log_partition
        row["spearman"] = _rank_correlation(plain, power * evaluation.log_partition)
    return row


def _rank_correlation(plain: np.ndarray, log_partition: np.ndarray) -> float:
    """Of the weights with and without Z, for the first particles, where Z was evaluated."""
    plain = plain[: len(log_partition)]
    known = np.isfinite(plain) & np.isfinite(log_partition)
    pair = plain[known], (plain - log_partition)[known]
    if min(np.unique(values).size for values in pair) < 2:
        return float("nan")
    return float(np.asarray(spearmanr(*pair))[0])


def is_settled(particles: Particles, log_w: np.ndarray) -> bool:
    """Whether the weights leave the proposal as it was.

    They do if they move no mean by a fifth of its width, and change no width by as much. (The KL
    would not do: it has a floor where the family cannot reach the target.)
    """
    z, weights = particles.z, normalise(log_w)
    spread, target = z.std(axis=0), weights @ z
    shift = np.abs(target - z.mean(axis=0)) / spread
    change = np.abs(np.sqrt(weights @ (z - target) ** 2) / spread - 1)
    return bool(np.all(shift < _SETTLED) and np.all(change < _SETTLED))


def converged() -> Stop:
    """The end of a run that has arrived."""
    return Stop(Status.CONVERGED, "At the target bandwidth, two successive rounds changed nothing.")


def too_noisy(row: dict[str, float | int], n_draws: int, beta: float) -> Stop:
    """The end of a run before it contracts on noise."""
    return Stop(
        Status.NOISE_LIMITED,
        f"The noise of distances from {n_draws} draws (standard error {row['distance_se']:.2g}) "
        f"makes up {row['noise_share']:.0%} of their variance, so a further step would contract "
        "the posterior on noise. The posterior before this round is kept. Use more draws "
        f"(n_draws={4 * n_draws}) or a larger bandwidth (beta={4 * beta:.2g}).",
    )


def diverged() -> Stop:
    """The end of a run whose fit went wrong."""
    return Stop(
        Status.DIVERGED,
        "The fit of this round gave a density that is not finite; the posterior before it is "
        "kept. Use a lower learning rate or a simpler family.",
    )
