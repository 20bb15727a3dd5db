"""Built-in tasks: simulators with known true parameters and, except for one, exact posteriors.

The name of a task comes in; ``problem`` gives a ``Problem`` to infer from, ``reference`` exact
samples to compare with, and ``truth`` the true parameters.

Read ``base`` (what a task offers), then the paper's five tasks ``gaussian_location``,
``gaussian_mixture``, ``slcp``, ``sir`` and ``furuta``, and the added ones ``two_moons`` and
``lotka_volterra``, ``regression`` and ``ddm`` (with conditions), ``ornstein_uhlenbeck`` (series)
and ``blob`` (images), then how exact samples are drawn (``grid``, ``rejection``, ``annealing``)
and stored (``cache``).
"""

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

from pliant.tasks.base import AbstractTask as AbstractTask
from pliant.tasks.base import option_names

_CLASSES = {
    "gaussian_location": "GaussianLocationTask",
    "gaussian_mixture": "GaussianMixtureTask",
    "slcp": "SLCPTask",
    "sir": "SIRTask",
    "furuta": "FurutaTask",
    "two_moons": "TwoMoonsTask",
    "lotka_volterra": "LotkaVolterraTask",
    "regression": "RegressionTask",
    "ddm": "DriftDiffusionTask",
    "ornstein_uhlenbeck": "OrnsteinUhlenbeckTask",
    "blob": "BlobTask",
}


def names() -> tuple[str, ...]:
    """The names of all tasks."""
    return tuple(_CLASSES)


def get(name: str, **options: Any) -> AbstractTask:
    """The task of this name.

    Args:
        name: One of ``names()``.
        **options: The task's own: ``times`` and ``truncated`` of ``"sir"``, ``back_emf`` of
            ``"furuta"``, ``points`` of ``"ornstein_uhlenbeck"``. The other tasks have none.

    Raises:
        ValueError: If there is no such task; the message lists all names and suggests the closest.
        TypeError: If the task has no such option; the message lists its options.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a task, got {name!r}.")
    if name not in _CLASSES:
        hint = _closest(name.lower().replace("-", "_"), _CLASSES)
        raise ValueError(f"name: expected one of {', '.join(_CLASSES)}, got {name!r}.{hint}")
    module = importlib.import_module(f"pliant.tasks.{name}")  # import no other task
    kind = getattr(module, _CLASSES[name])
    allowed = option_names(kind)
    for option in options:
        if option not in allowed:
            known = f"Its options are {', '.join(allowed)}." if allowed else "It has none."
            hint = _closest(option, allowed)
            raise TypeError(f"{option}: the task {name} has no such option. {known}{hint}")
    return kind(**options)


def _closest(text: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(text, known, n=1, cutoff=0.4)
    return f" Did you mean {close[0]!r}?" if close else ""
