"""Whether the simulator works where the posterior is."""

import numpy as np

from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level

_SOME, _MANY = 0.005, 0.05  # share of failed draws


def can_compare(evidence: Evidence) -> bool:
    """Whether there are usable draws to compare the observations with.

    Both halves of the sets need some, as one is compared with the other; where observations differ
    by design, for each observation.
    """
    ok = np.asarray(evidence.sets.ok)
    halves = ok[: len(ok) // 2].any(axis=0), ok[len(ok) // 2 :].any(axis=0)
    enough = np.any if evidence.problem.is_uniform else np.all
    return all(bool(enough(half)) for half in halves)


def check_unusable(evidence: Evidence) -> list[Finding]:
    """The finding where nothing can be compared with the data."""
    share = float(1 - np.asarray(evidence.sets.ok).mean())
    text = (
        f"{share:.1%} of the draws failed inside the posterior: there are too few to compare the "
        "data with, so the other checks were not made."
    )
    remedy = "Fix the simulator, then run again."
    return [Finding("simulator", Level.UNSOUND, text, remedy, share, _SOME)]


def check_failed_draws(evidence: Evidence) -> list[Finding]:
    """The share of failed draws inside the posterior, and which parameters they come from."""
    ok = np.asarray(evidence.sets.ok)
    share = float(1 - ok.mean())
    numbers = share, _SOME
    if share <= _SOME:
        return [Finding("simulator", Level.OK, f"{share:.1%} of the draws failed.", "", *numbers)]
    failed = 1 - ok.mean(axis=1)
    theta = evidence.theta[: len(failed)]
    spread = np.where(theta.std(axis=0) > 0, theta.std(axis=0), 1.0)
    mean = failed @ theta / failed.sum()
    off = (mean - theta.mean(axis=0)) / spread
    worst = int(np.argmax(np.abs(off)))
    where = (
        f" They come from {'large' if off[worst] > 0 else 'small'} {evidence.names[worst]} "
        f"(about {mean[worst]:.3g})."
        if abs(off[worst]) > 0.3
        else ""
    )
    text = f"{share:.1%} of the draws failed inside the posterior.{where}"
    remedy = (
        "Failed draws are left out, as if they could not have been observed. Fix the simulator "
        "there, or narrow the prior."
    )
    level = Level.DOUBTFUL if share > _MANY else Level.NOTE
    return [Finding("simulator", level, text, remedy, *numbers)]
