"""A problem in a few lines, for ``repr`` and for notebooks."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpyro.distributions import Distribution, ExpandedDistribution, Independent

from pliant.problem.prior import Prior

if TYPE_CHECKING:
    from pliant.problem.problem import Problem

_WRAPPERS = ExpandedDistribution | Independent
_MOST_PARAMETERS = 8
_MOST_ENTRIES = 4  # of an array that is written out


def described(problem: "Problem") -> list[tuple[str, str]]:
    """What the problem consists of: labels with texts."""
    lines = [
        *(("prior", line) for line in prior_lines(problem.prior)),
        ("simulator", problem.simulator.label),
        ("observed", f"{_shapes(problem.layout, problem.n_obs)}{_gaps(problem)}"),
    ]
    if problem.conditions is not None:
        values = problem.conditions.values
        names = ", ".join(values) if isinstance(values, dict) else "one for each observation"
        lines.append(("conditions", names))
    scale = "as given" if isinstance(problem.scale, tuple) else str(problem.scale)
    return [*lines, ("scale", scale)]


def prior_lines(prior: Prior) -> list[str]:
    """``name ~ distribution`` for each of the first entries of the prior."""
    names = prior.space.names or ("theta",)
    lines = [
        f"{name} ~ {distribution_text(distribution)}"
        for name, distribution in zip(names, prior.distributions, strict=True)
    ]
    more = len(lines) - _MOST_PARAMETERS
    return lines[:_MOST_PARAMETERS] + ([f"and {more} more"] if more > 0 else [])


def distribution_text(distribution: Distribution) -> str:
    """The class of a distribution with its arguments, such as ``Normal(loc=0, scale=1)``."""
    if isinstance(distribution, _WRAPPERS):
        text = distribution_text(distribution.base_dist)
        inner = isinstance(distribution.base_dist, _WRAPPERS)
        return text if inner else f"{text} of the shape {distribution.shape()}"
    given = {n: v for n, v in vars(distribution).items() if n in distribution.arg_constraints}
    base: Any = getattr(distribution, "base_dist", None)
    parts = [f"{name}={_short(value)}" for name, value in given.items()]
    if isinstance(base, Distribution) and not (given and set(given) <= set(base.arg_constraints)):
        parts.insert(0, distribution_text(base))
    return f"{type(distribution).__name__}({', '.join(parts)})"


def _short(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array:.4g}"
    if array.ndim == 1 and array.size <= _MOST_ENTRIES:
        return f"[{', '.join(f'{entry:.4g}' for entry in array)}]"
    return f"array of the shape {array.shape}"


def _shapes(layout: Any, n_obs: int) -> str:
    counted = "1 observation" if n_obs == 1 else f"{n_obs:,} observations"
    if layout.names is None:
        return f"{counted} of the shape {layout.shapes[0]}"
    entries = zip(layout.names, layout.shapes, strict=True)
    return f"{counted} of {', '.join(f'{name} {shape}' for name, shape in entries)}"


def _gaps(problem: "Problem") -> str:
    if problem.seen is None:
        return ""
    return f", of which {np.mean(~problem.seen):.1%} was not measured"
