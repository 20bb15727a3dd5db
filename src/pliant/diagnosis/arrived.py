"""Whether the run got where it should: its status, its bandwidth, and its last rounds."""

import math

from pliant.diagnosis.finding import Finding, Level
from pliant.methods.status import Status
from pliant.run.result import Result

_NEAR = 1.05  # times the target bandwidth, within which it counts as reached
_FAR = 2.0  # times the target, from which on the posterior is far too wide
_MOVING = 0.5  # nats between the last two posteriors, above which they still move


def check_arrival(result: Result) -> list[Finding]:
    """One finding on how the run ended, and one on its last rounds."""
    status = result.status
    if result.posterior.is_prior:
        text = f"No round gave a posterior: the run ended as {status}. {result.message}"
        return [Finding("arrived", Level.UNSOUND, text, status.remedy)]
    last = dict(result.history[-1])
    times = 1 + float(last.get("eta") or 0.0)
    wider = math.sqrt(times)
    numbers = times, _NEAR
    if status.is_error:
        text = f"The run ended as {status}. {result.message}"
        return [Finding("arrived", Level.UNSOUND, text, status.remedy, *numbers)]
    if times > _NEAR:
        level = Level.UNSOUND if times > _FAR else Level.DOUBTFUL
        text = (
            f"The run ended as {status}, with a bandwidth of {times:.3g} times its target: the "
            f"posterior is about {wider:.2g} times too wide where the data determine it."
        )
        return [Finding("arrived", level, text, _remedy(status), *numbers)]
    if not status.is_success:
        text = f"The run ended as {status}. {result.message}"
        return [Finding("arrived", Level.DOUBTFUL, text, _remedy(status), *numbers)]
    return [
        Finding("arrived", Level.OK, f"The run ended as {status}.", "", *numbers),
        _moves(result),
    ]


def _remedy(status: Status) -> str:
    if status in (Status.CUT_SHORT, Status.OUT_OF_SIMULATIONS, Status.OUT_OF_TIME):
        return "Continue with pliant.resume and a larger budget, or use more rounds."
    if status in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK):
        return "Continue with pliant.resume."
    return status.remedy


def _moves(result: Result) -> Finding:
    """Whether the last round still changed the posterior.

    The KL of a round is that of its weights from its proposal, or for APT that of its posterior
    from the last. A converged run has seen that no mean and no width changed, which is a finer
    test.
    """
    last = result.history[-1]
    kl = float(last.get("kl") or last.get("moved") or 0.0)
    numbers = kl, _MOVING
    if kl <= _MOVING or result.status in (Status.CONVERGED, Status.REACHED_TOLERANCE):
        return Finding(
            "last rounds", Level.OK, f"The last round moved by {kl:.2g} nats.", "", *numbers
        )
    text = f"The last round still moved the posterior, by {kl:.2g} nats."
    return Finding("last rounds", Level.NOTE, text, "Use more rounds.", *numbers)
