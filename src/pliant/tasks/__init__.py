"""Built-in tasks: simulators with known truths and, but for one, exact posteriors."""

import difflib
import importlib

from pliant.tasks.base import AbstractTask

_CLASSES = {
    "gaussian_location": "GaussianLocation",
    "gaussian_mixture": "GaussianMixture",
    "slcp": "SLCP",
    "sir": "SIR",
    "furuta": "Furuta",
}


def names() -> tuple[str, ...]:
    """The names that ``get`` knows."""
    return tuple(_CLASSES)


def get(name: str) -> AbstractTask:
    """The task of that name, with its default options.

    Raises:
        ValueError: If there is none; the message lists the names and the closest one.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a task, got {name!r}.")
    if name not in _CLASSES:
        close = difflib.get_close_matches(name.lower().replace("-", "_"), _CLASSES, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"name: expected one of {', '.join(_CLASSES)}, got {name!r}.{hint}")
    module = importlib.import_module(f"pliant.tasks.{name}")  # only the one that is asked for
    return getattr(module, _CLASSES[name])()
