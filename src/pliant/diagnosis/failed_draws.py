"""Whether the simulator works where the posterior is."""

import numpy as np

from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level

_SOME, _MANY = 0.005, 0.05  # share of failed draws


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
