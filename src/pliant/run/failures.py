"""Failed draws: how many of each kind, an example of each, and where in parameter space."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

_FEWEST = 20  # parameters on each side of a threshold
_TELLING = 0.3  # the least difference of the failing shares on the two sides of a threshold


class Failure(NamedTuple):
    """One way in which draws failed."""

    kind: str
    """"exception", "not finite", "wrong shape", "timeout" or "crash"."""
    draws: int
    """How many draws failed in this way."""
    message: str
    """The message of the first one."""
    parameters: dict[str, Any]
    """The parameters of the first one."""

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        place = [f"first at {shown}"] if shown else []
        told = ": ".join([*place, *self.message.strip().splitlines()[:1]])
        return f"{self.draws:,} {self.kind}" + (f" ({told})" if told else "")


def added(
    failures: tuple[Failure, ...], kind: str, draws: int, message: str, parameters: dict[str, Any]
) -> tuple[Failure, ...]:
    """The failures with more draws of a kind, whose first example is kept."""
    for index, failure in enumerate(failures):
        if failure.kind == kind:
            more = failure._replace(draws=failure.draws + draws)
            return (*failures[:index], more, *failures[index + 1 :])
    return (*failures, Failure(kind, draws, message, parameters))


def where_it_fails(
    names: list[str], theta: Float[np.ndarray, "K columns"], failing: Float[np.ndarray, " K"]
) -> str:
    """A sentence with the threshold of one parameter that best separates failing draws.

    Args:
        names: The names of the columns.
        theta: Parameters in the user's units.
        failing: The share of each parameter's draws that failed.
    """
    best, text = _TELLING, f"{np.mean(failing):.0%} of all draws fail, whatever the parameters."
    for name, column in zip(names, theta.T, strict=True):
        for threshold in np.unique(np.quantile(column, np.linspace(0.05, 0.95, 19))):
            above = column > threshold
            if min(above.sum(), (~above).sum()) < min(_FEWEST, len(column) // 4):
                continue
            high, low = failing[above].mean(), failing[~above].mean()
            if abs(high - low) > best:
                best = abs(high - low)
                worse, side = max(high, low), "above" if high > low else "below"
                text = (
                    f"They lie mostly at {name} {side} {threshold:.3g}, where {worse:.0%} of the "
                    f"draws fail and elsewhere {min(high, low):.0%}."
                )
    return text


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=4, threshold=6)
