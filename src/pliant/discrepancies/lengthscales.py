"""Lengthscales of Gaussian kernels: the paper's, a user's, or the median of the data's."""

from collections.abc import Iterable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from pliant._checks import check_real

PAPER_LENGTHSCALES = (1.0, 10.0, 20.0, 40.0, 80.0, 100.0, 130.0, 200.0, 400.0, 800.0, 1000.0)
"""The lengthscales of the paper's appendix, from Dellaporta et al. (2022)."""

_MEDIAN_OBSERVATIONS = 2000
"""More observations than this are thinned evenly before the median of their distances."""


def as_lengthscales(lengthscales: Any) -> tuple[float, ...] | Literal["median"]:
    """Positive numbers that single precision can hold, or "median".

    Raises:
        TypeError, ValueError: For anything else.
    """
    if isinstance(lengthscales, str):
        if lengthscales == "median":
            return "median"
        raise ValueError(
            f"lengthscales: expected positive numbers or 'median', got {lengthscales!r}."
        )
    if not isinstance(lengthscales, Iterable):
        raise TypeError(
            f"lengthscales: expected several positive numbers or 'median', got {lengthscales!r}."
        )
    values = tuple(
        check_real(
            f"lengthscales[{i}]", getattr(v, "item", lambda v=v: v)(), above=1e-15, below=1e15
        )
        for i, v in enumerate(lengthscales)
    )
    if not values:
        raise ValueError("lengthscales: expected at least one positive number, got none.")
    return values


def median_lengthscale(points: Float[Array, "N d"]) -> Float[Array, ""]:
    """The median of the squared distances between observations.

    Raises:
        ValueError: If there is none above zero. (Inside ``jax.jit``, an ``EqxRuntimeError``.)
    """
    if points.shape[0] == 1:
        raise ValueError(
            "lengthscales: 'median' needs at least two observations, got one; give the "
            "lengthscales as numbers."
        )
    median = _median_squared_distance(points[:: -(-points.shape[0] // _MEDIAN_OBSERVATIONS)])
    message = (
        "lengthscales: 'median' needs observations that differ, but at least half of their pairs "
        "are equal; give the lengthscales as numbers."
    )
    if isinstance(median, Tracer):
        return eqx.error_if(median, ~(median > 0), message)
    if not median > 0:
        raise ValueError(message)
    return median


@eqx.filter_jit
def _median_squared_distance(points: Float[Array, "N d"]) -> Float[Array, ""]:
    N, d = points.shape

    def add(f, total):  # one feature at a time, so that memory does not grow with their number
        return total + jnp.square(points[:, None, f] - points[None, :, f])

    squared = jax.lax.fori_loop(0, d, add, jnp.zeros((N, N), points.dtype))
    return jnp.nanmedian(jnp.where(jnp.eye(N, dtype=bool), jnp.nan, squared))
