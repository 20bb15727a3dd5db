"""Built-in tasks: simulators with known true parameters and, except for one, exact posteriors.

The name of a task comes in; ``problem`` gives a ``Problem`` to infer from, ``reference`` exact
samples to compare with, and ``truth`` the true parameters.

Read ``base`` (what a task offers), then the tasks ``gaussian_location``, ``gaussian_mixture``,
``slcp``, ``sir`` and ``furuta``, then how exact samples are drawn (``grid``, ``rejection``) and
stored (``cache``).
"""

import difflib
import importlib

from pliant.tasks.base import AbstractTask as AbstractTask

_CLASSES = {
    "gaussian_location": "GaussianLocationTask",
    "gaussian_mixture": "GaussianMixtureTask",
    "slcp": "SLCPTask",
    "sir": "SIRTask",
    "furuta": "FurutaTask",
}


def names() -> tuple[str, ...]:
    """The names of all tasks."""
    return tuple(_CLASSES)


def get(name: str) -> AbstractTask:
    """The task of this name, with its default options.

    Raises:
        ValueError: If there is none; the message lists all names and suggests the closest.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a task, got {name!r}.")
    if name not in _CLASSES:
        close = difflib.get_close_matches(name.lower().replace("-", "_"), _CLASSES, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"name: expected one of {', '.join(_CLASSES)}, got {name!r}.{hint}")
    module = importlib.import_module(f"pliant.tasks.{name}")  # import no other task
    return getattr(module, _CLASSES[name])()
