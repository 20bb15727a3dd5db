"""Two samples that are to be compared, checked once for all metrics."""

from typing import Any

import numpy as np
from jaxtyping import Float

from pliant._checks import check_numbers


def read_samples(
    x: Any, y: Any, *, at_least: int = 1
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "m d"]]:
    """Both samples in double precision, less the mean of ``y``, which changes no distance.

    Args:
        x: ``(n, d)``.
        y: ``(m, d)``.
        at_least: The fewest points of each.

    Raises:
        TypeError, ValueError: If they are not finite numbers of such shapes.
    """
    first, second = _read("x", x, at_least), _read("y", y, at_least)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"y: expected {first.shape[1]} columns, as x has, got the shape {second.shape}."
        )
    centre = second.mean(axis=0)
    return first - centre, second - centre


def thinned(x: Float[np.ndarray, "n d"], most: int) -> Float[np.ndarray, "m d"]:
    """The sample, or ``most`` evenly spaced points of it if it has more."""
    return x if len(x) <= most else x[np.arange(most) * len(x) // most]


def _read(name: str, sample: Any, at_least: int) -> Float[np.ndarray, "n d"]:
    array = check_numbers(name, sample).astype(np.float64)
    if array.ndim != 2 or len(array) < at_least or array.shape[1] < 1:
        raise ValueError(
            f"{name}: expected the shape (n, d) with n of at least {at_least}, got {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: expected finite numbers, but some are not.")
    return array
