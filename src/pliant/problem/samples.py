"""Samples as tables: arrays by name become the columns of a matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from pliant._checks import check_numbers


def named(theta: Any) -> dict[str, Any]:
    """Parameters by name; the single array of a prior without names is called ``theta``."""
    return dict(theta) if isinstance(theta, Mapping) else {"theta": theta}


def as_table(
    samples: Any, names: Sequence[str] | None = None
) -> tuple[list[str], Float[np.ndarray, "n columns"]]:
    """Column labels and values of samples, in double precision and the user's units.

    A vector ``theta`` gives the columns ``theta[0]``, ``theta[1]``, ...

    Args:
        samples: Name to ``(n, *shape)``, or one such array, which is called ``theta``.
        names: The order of the parameters; that of ``samples`` by default.

    Raises:
        ValueError: If there are no samples, or not equally many of each parameter.
    """
    given = named(samples)
    check_names("samples", given, names)
    arrays = {name: np.asarray(given[name], np.float64) for name in names or given}
    lengths = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
    if not arrays or len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ValueError(
            f"samples: expected arrays (n, *shape) with one n of at least 1, got n = {lengths}."
        )
    labels = [
        f"{name}[{','.join(map(str, index))}]" if index else name
        for name, array in arrays.items()
        for index in np.ndindex(array.shape[1:])
    ]
    blocks = [array.reshape(len(array), -1) for array in arrays.values()]
    return labels, np.concatenate(blocks, axis=1)


def check_names(label: str, given: Mapping[str, Any], names: Sequence[str] | None) -> None:
    """Raise a ``ValueError`` unless every name is given."""
    if not set(names or ()) <= set(given):
        raise ValueError(f"{label}: expected the names {list(names or ())}, got {list(given)}.")


def as_row(theta: Any, names: Sequence[str] | None = None) -> Float[np.ndarray, " columns"]:
    """One parameter as a row of the table that ``as_table`` makes."""
    given = named(theta)
    check_names("theta", given, names)
    return np.concatenate([np.ravel(np.asarray(given[name], float)) for name in names or given])


def centred_pair(
    x: Any, y: Any, *, at_least: int = 1
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "m d"]]:
    """Two tables to compare, in double precision, both less the mean of ``y``.

    The shift changes no distance, and prevents cancellation.

    Args:
        x: ``(n, d)``.
        y: ``(m, d)``.
        at_least: The smallest allowed n and m.

    Raises:
        TypeError, ValueError: If they are not finite numbers of these shapes.
    """
    first, second = _check_table("x", x, at_least), _check_table("y", y, at_least)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"y: expected {first.shape[1]} columns, as x has, got the shape {second.shape}."
        )
    centre = second.mean(axis=0)
    return first - centre, second - centre


def thinned(x: Shaped[np.ndarray, "n *shape"], most: int) -> Shaped[np.ndarray, "m *shape"]:
    """``x``, or ``most`` evenly spaced rows of it if it has more."""
    return x if len(x) <= most else x[np.arange(most) * len(x) // most]


def _check_table(name: str, sample: Any, at_least: int) -> Float[np.ndarray, "n d"]:
    array = check_numbers(name, sample).astype(np.float64)
    if array.ndim != 2 or len(array) < at_least or array.shape[1] < 1:
        raise ValueError(
            f"{name}: expected the shape (n, d) with n of at least {at_least}, got {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: expected finite numbers, but some are not.")
    return array
