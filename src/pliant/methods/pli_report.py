"""What a round of PLI reports: its row of the history, and why a run ends there."""

import numpy as np
from scipy.stats import spearmanr

from pliant._importance import divergence_from_uniform, effective_sample_size, normalise
from pliant.discrepancies.base import Evaluation, Particles
from pliant.methods.base import Stop
from pliant.methods.pli_state import PLIState
from pliant.methods.status import Status
from pliant.weighting.weights import Tempering

SURE = 0.35  # nats: with a smaller error of the log-likelihood, a run can be done
_CLOSE = 0.05  # nats: the KL of the target from a posterior that need not be fitted again
_SETTLED = 0.2  # of a parameter's width, and of the particles, in a round that changed nothing


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
    if len(evaluation.errors) > 1:
        row["log_likelihood_se"] = standard_error(evaluation.errors, log_w)
    if len(evaluation.log_partition):
        power = beta / tempering.bandwidth
        plain = log_w + power * particles.log_partition
        row["spearman"] = _rank_correlation(plain, power * evaluation.log_partition)
    return row


def standard_error(errors: np.ndarray, log_w: np.ndarray) -> float:
    """Of the log-likelihood over weighted parameters, in nats; a constant of theta is no error."""
    weights = normalise(log_w)
    errors = errors - (errors @ weights)[:, None]
    return float(np.sqrt(np.sum(errors**2, axis=0) @ weights))


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

    They do if they move no mean by a fifth of its width, change no width by as much, and are shared
    by a fifth of the particles. (The KL would not do: it has a floor where the family cannot reach
    the target.)
    """
    z, weights = particles.z, normalise(log_w)
    given = np.zeros(len(z)) if particles.log_base is None else particles.log_base
    centre, spread = _moments(z, normalise(given))
    target, width = _moments(z, weights)
    shift, change = np.abs(target - centre) / spread, np.abs(width / spread - 1)
    shared = effective_sample_size(log_w) > _SETTLED * len(log_w)
    return bool(np.all(shift < _SETTLED) and np.all(change < _SETTLED) and shared)


def _moments(z: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of weighted samples."""
    mean = weights @ z
    return mean, np.sqrt(weights @ (z - mean) ** 2)


def is_close(particles: Particles, tempering: Tempering, log_w: np.ndarray) -> bool:
    """Whether the proposal is so close to its target that a further fit cannot gain much.

    (SIR, N = 2: posteriors with 0.89, 0.94 and 0.98 of the target's width have a KL of 0.25, 0.07
    and 0.006 nats.)
    """
    lost = divergence_from_uniform(log_w, particles.log_base)
    return tempering.power == 1 and lost < _CLOSE


def converged(row: dict[str, float | int]) -> Stop:
    """The end of a run that has arrived."""
    error = row.get("log_likelihood_se")
    if error is None:
        message = "At the target bandwidth, two successive rounds changed nothing."
        return Stop(Status.CONVERGED, message)
    return Stop(
        Status.CONVERGED,
        "At the target bandwidth, the round changed nothing, and the learned log-likelihood has a "
        f"standard error of {error:.2g} nats.",
    )


def shortfall(row: dict[str, float | int], state: PLIState, *, learned: bool) -> str:
    """How far a run is from its target; empty if it has arrived.

    Args:
        row: The last round's.
        state: After the round.
        learned: Whether the likelihood is learned.
    """
    if state.approaching:
        return (
            "It ended before a likelihood was learned: the posterior is a rough one, and too wide. "
            "Use more rounds or a larger budget."
        )
    if state.eta > 0:
        return (
            f"The bandwidth is {1 + state.eta:.3g} times its target: the posterior is too wide. "
            "Use more rounds or a larger budget."
        )
    if not learned:
        return ""
    if not state.settled:
        return (
            "The target bandwidth was reached, but no round there has left the posterior as it "
            "was. Use more rounds or a larger budget."
        )
    error = row.get("log_likelihood_se", float("nan"))
    if row.get("networks", 1) == 1 or error < SURE:  # one network alone has no standard error
        return ""
    size = "unknown" if np.isnan(error) else f"{error:.2g} nats"
    return (
        "The target bandwidth was reached, but the likelihood is not known well: its standard "
        f"error is {size}, and less than {SURE} nats is wanted. Use more rounds or a larger budget."
    )


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
