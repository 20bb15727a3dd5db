"""Checks of arguments; each message names the argument, what was expected, and what was given."""

import math
import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, *, at_least: int) -> int:
    """``value`` as an ``int`` of at least ``at_least``.

    Raises:
        TypeError: If it is not an integer.
        ValueError: If it is too small.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}: expected an integer, got {value!r} ({type(value).__name__}).")
    if value < at_least:
        raise ValueError(f"{name}: expected an integer of at least {at_least}, got {value}.")
    return int(value)


def check_seed(name: str, value: Any) -> int:
    """``value`` as a seed, an integer from 0 to ``2**32 - 1``: JAX drops higher bits silently.

    Raises:
        TypeError: If it is not an integer.
        ValueError: If it is out of range.
    """
    seed = check_integer(name, value, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"{name}: expected an integer below 2**32, got {seed}.")
    return seed


def check_real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> float:
    """``value`` as a finite ``float``, strictly between ``above`` and ``below``, up to ``at_most``.

    Raises:
        TypeError: If it is not a real number.
        ValueError: If it is not finite or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected a number, got {value!r} ({type(value).__name__}).")
    try:
        number = float(value)
    except OverflowError:  # an integer that no float can hold
        number = math.inf
    if not (math.isfinite(number) and above < number < below and number <= at_most):
        limits = {"above": above, "below": below, "of at most": at_most}
        bounds = [f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)]
        wanted = " and ".join(["a finite number", *bounds])
        raise ValueError(f"{name}: expected {wanted}, got {value!r}.")
    return number


def check_numbers(name: str, value: Any) -> np.ndarray:
    """``value`` as an array of real numbers, which need not be finite.

    Raises:
        TypeError: If it holds anything else.
        ValueError: If it is ragged, or if some of it is masked.
    """
    if _masked(value):
        raise ValueError(f"{name}: expected numbers, got masked ones. Remove or impute them.")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name}: expected an array, got a ragged sequence: its entries must have one shape."
        ) from error
    except TypeError as error:
        raise TypeError(f"{name}: expected real numbers, got {value!r}.") from error
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got the type {array.dtype}.")
    return array


def _masked(value: Any) -> bool:
    """Whether some of it is masked; NumPy would ignore the masks of arrays in a list."""
    if isinstance(value, list | tuple):
        return any(_masked(part) for part in value if isinstance(part, _MAY_BE_MASKED))
    return np.ma.is_masked(value)


_MAY_BE_MASKED = (list, tuple, np.ma.MaskedArray)


def check_path(name: str, value: Any) -> Path:
    """``value`` as a path; a ``TypeError`` if it is neither text nor a path."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}: expected a path, got {value!r} ({type(value).__name__}).")
    return Path(value)


def check_instance(name: str, value: Any, kind: type | tuple[type, ...], example: str) -> None:
    """Raise a ``TypeError`` unless ``value`` is a ``kind``; ``example`` shows a good value."""
    if not isinstance(value, kind):
        got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(f"{name}: expected something like {example}, got {got}.")


def shape_text(first: str, event: tuple[int, ...]) -> str:
    """The shape of many events in a message: ``(N,)``, ``(N, 2)``."""
    return f"({', '.join([first, *map(str, event)])}{'' if event else ','})"


def error_text(error: BaseException) -> str:
    """The kind of an error and the first line of its message, if it has one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *lines[:1]])
