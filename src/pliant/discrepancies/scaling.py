"""Events as rows of features, and the optional divisors that make features comparable."""

import dataclasses
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Num

Discrepancy = TypeVar("Discrepancy")


def as_divisors(scale: Any) -> Array | None:
    """The option ``scale`` as an array of positive divisors, one for each feature.

    Raises:
        TypeError: If it holds something else than numbers.
        ValueError: If it is not a vector of finite positive numbers.
    """
    if scale is None or isinstance(scale, Tracer):
        return scale
    try:
        values = np.asarray(scale, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"scale: expected None or a vector of numbers, got {scale!r}.") from None
    if values.ndim != 1:
        raise ValueError(
            "scale: expected None or a vector with one divisor for each feature of the flattened "
            f"event, got an array of shape {values.shape}."
        )
    single = np.finfo(np.float32)
    if not np.all((values >= single.tiny) & (values <= single.max)):
        raise ValueError(
            f"scale: expected positive divisors in the range of single precision, got {values}."
        )
    return jnp.asarray(values)


def as_rows(
    x: Num[Array, "*lead_event"], lead: int, scale: Float[Array, " d"] | None
) -> Float[Array, "*lead d"]:
    """Events flattened to ``d`` features, each divided by its divisor.

    Args:
        x: Events, with ``lead`` leading axes.
        lead: How many axes come before those of the event.
        scale: The divisors, or None to leave the features as they are.

    Raises:
        ValueError: If the number of divisors is not the number of features.
    """
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    rows = x.reshape(*x.shape[:lead], -1)
    if scale is None:
        return rows
    if scale.shape != rows.shape[-1:]:
        raise ValueError(
            f"scale: expected {rows.shape[-1]} divisors, one for each feature of an event of "
            f"shape {x.shape[lead:]}, got {scale.size}."
        )
    return rows / jnp.expand_dims(scale.astype(rows.dtype), range(lead))


def check_same_features(x: Float[Array, "K M d"], observed: Float[Array, "N e"]) -> None:
    """Raise a ``ValueError`` unless simulated and observed events have as many features."""
    if x.shape[-1] != observed.shape[-1]:
        raise ValueError(
            f"x: expected events with {observed.shape[-1]} features, as observed, got "
            f"{x.shape[-1]}."
        )


def pilot_scale(x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]) -> Float[Array, " d"]:
    """Divisors from pilot simulations: how far each feature spreads over the whole pilot.

    A feature's spread is half the range from its 16 % to its 84 % quantile, which is the standard
    deviation of a normal feature and is not moved by a few wild draws. Where that is zero, as for
    counts that are mostly zero, it is the standard deviation; a constant feature gets 1.

    Args:
        x: Simulated sets, as from the prior.
        ok: Which draws are usable; the others count for nothing.
    """
    rows = as_rows(x, 2, None)
    rows = jnp.where(ok[..., None], rows, jnp.nan).reshape(-1, rows.shape[-1])
    # "nearest" returns values of the sample, so a constant feature has a spread of exactly zero.
    low, high = jnp.nanquantile(rows, jnp.array([0.16, 0.84]), axis=0, method="nearest")
    spread = (high - low) / 2
    deviation = jnp.where(jnp.nanmax(rows, 0) > jnp.nanmin(rows, 0), jnp.nanstd(rows, 0), 0)
    spread = jnp.where(spread > 0, spread, deviation)
    return jnp.where((spread > 0) & jnp.isfinite(spread), spread, 1)


def with_scale(discrepancy: Discrepancy, scale: Any) -> Discrepancy:
    """The same discrepancy with other divisors, such as those of ``pilot_scale``.

    Raises:
        TypeError: If the discrepancy has no option ``scale``.
    """
    names = [f.name for f in dataclasses.fields(discrepancy)]  # pyright: ignore[reportArgumentType]
    if "scale" not in names:
        raise TypeError(
            f"discrepancy: expected one with the option scale, got {type(discrepancy).__name__}."
        )
    return dataclasses.replace(discrepancy, scale=scale)  # pyright: ignore[reportArgumentType,reportCallIssue]
