"""Whether the networks, or the distances, are known well enough."""

import numpy as np

from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level, skipped
from pliant.run.result import Result

_ERROR, _LARGE = 0.5, 1.0  # nats of the log-likelihood over the posterior
_NOISE = 0.9  # share of noise in the variance of distances

_MORE = "Use pliant.resume with more rounds, or more draws (n_draws)."


def check_learning(result: Result, evidence: Evidence) -> list[Finding]:
    """Findings on the networks' disagreement, and on the noise of distances."""
    last = result.history[-1] if len(result.history) else {}
    if evidence.likelihood is None:
        return [_noise(last.get("noise_share"))]
    return [_disagreement(last.get("log_likelihood_se"))]


def _disagreement(error: float | None) -> Finding:
    if error is None or np.isnan(error):
        return skipped("networks", "One network alone does not tell how large its error is.")
    numbers = float(error), _ERROR
    text = f"The networks disagree by {error:.2g} nats of the log-likelihood of all observations."
    if error <= _ERROR:
        return Finding("networks", Level.OK, text, "", *numbers)
    level = Level.UNSOUND if error > _LARGE else Level.DOUBTFUL
    return Finding("networks", level, text, _MORE, *numbers)


def _noise(share: float | None) -> Finding:
    if share is None or np.isnan(share):
        return skipped("noise", "The method does not tell how noisy its distances are.")
    numbers = float(share), _NOISE
    text = f"Noise makes up {share:.0%} of the variance of the distances."
    if share <= _NOISE:
        return Finding("noise", Level.OK, text, "", *numbers)
    text = f"{text} A narrower posterior would follow the noise."
    return Finding("noise", Level.NOTE, text, "Use more draws (n_draws).", *numbers)
