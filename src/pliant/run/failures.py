"""Draws that failed: how many of each kind, an example of each, and where in parameter space."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

_FEWEST = 20  # parameters on each side of a threshold that failures are told apart by
_TELLING = 0.3  # difference of the failing shares from which a threshold says something


class Failure(NamedTuple):
    """One way in which draws failed."""

    kind: str
    """"exception", "not finite", "wrong shape", "timeout" or "crash"."""
    draws: int
    """How many failed so."""
    message: str
    """Of the first one."""
    parameters: dict[str, Any]
    """Of the first one."""

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        first = self.message.splitlines()[0] if self.message else ""
        return f"{self.draws:,} {self.kind} (first at {shown}: {first})"


def added(
    failures: tuple[Failure, ...], kind: str, draws: int, message: str, parameters: dict[str, Any]
) -> tuple[Failure, ...]:
    """The failures with some more of a kind; the first example of it stays."""
    for index, failure in enumerate(failures):
        if failure.kind == kind:
            more = failure._replace(draws=failure.draws + draws)
            return (*failures[:index], more, *failures[index + 1 :])
    return (*failures, Failure(kind, draws, message, parameters))


def where_it_fails(
    names: list[str], theta: Float[np.ndarray, "K columns"], failing: Float[np.ndarray, " K"]
) -> str:
    """In words: the threshold of one parameter that best tells failing draws from others.

    Args:
        names: Of the columns.
        theta: Parameters in the user's units.
        failing: The share of each parameter's draws that failed.
    """
    best, words = _TELLING, f"{np.mean(failing):.0%} of all draws fail, wherever they are."
    for name, column in zip(names, theta.T, strict=True):
        for threshold in np.unique(np.quantile(column, np.linspace(0.05, 0.95, 19))):
            above = column > threshold
            if min(above.sum(), (~above).sum()) < min(_FEWEST, len(column) // 4):
                continue
            high, low = failing[above].mean(), failing[~above].mean()
            if abs(high - low) > best:
                best = abs(high - low)
                worse, side = max(high, low), "above" if high > low else "below"
                words = (
                    f"They lie mostly at {name} {side} {threshold:.3g}, where {worse:.0%} of the "
                    f"draws fail and elsewhere {min(high, low):.0%}."
                )
    return words


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=4, threshold=6)
