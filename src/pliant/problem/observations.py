"""What was measured: observations of any structure, with gaps, each under its own condition."""

from collections.abc import Mapping
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from pliant._checks import check_numbers
from pliant.simulators.layout import Layout, layout_of

_SMALLEST, _LARGEST = 1e-35, 1e35  # single precision ends at 1e-38 and 3e38

Missing = Literal[False, True, "simulated"]


class Observations(eqx.Module):
    """The observed data sets as one array."""

    x: Float[Array, "N *event"]
    """Gaps are filled with the mean of the feature's other values."""
    seen: Bool[np.ndarray, "N *event"] | None
    """Which numbers were measured; None if all were."""
    layout: Layout = eqx.field(static=True)
    """The structure in which they were given."""


class Conditions(eqx.Module):
    """Under which each observation was made."""

    values: PyTree
    """As they were given: an array ``(N, ...)``, or a dict of such arrays."""
    rows: Float[np.ndarray, "N c"]
    """All numbers of a condition, each with the mean zero and the deviation one."""


def read_observations(observed: Any, missing: Any) -> Observations:
    """Check the observations and bring them into one array.

    Raises:
        TypeError, ValueError: If they cannot be used; the message says why.
    """
    if not (isinstance(missing, bool) or missing == "simulated"):
        raise ValueError(f'missing: expected False, True or "simulated", got {missing!r}.')
    if isinstance(observed, Mapping):
        padded = {name: _padded(entry) if missing else entry for name, entry in observed.items()}
        arrays = _named_arrays("observed", padded)
        for name, array in arrays.items():
            _check_filled(f"observed[{name!r}]", array)
        _check_lengths("observed", arrays)
        array = layout_of(arrays, lead=1).joined(arrays, lead=1)
        layout = layout_of(arrays, lead=1)
    else:
        array = check_numbers("observed", _padded(observed) if missing else observed)
        _check_filled("observed", array)
        layout = layout_of(array, lead=1)
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    if not missing:
        _check_finite(single, ~np.isfinite(single))
        _check_range(array)
        return Observations(jnp.asarray(single), None, layout)
    _check_finite(single, np.isinf(single))
    seen = ~np.isnan(single)
    _check_gaps(seen, by_design=missing is True)
    array = np.where(seen, array, means_of_seen(array, seen))
    _check_range(array)
    return Observations(jnp.asarray(array.astype(np.float32)), seen, layout)


def read_conditions(conditions: Any, n_obs: int) -> Conditions | None:
    """Check the conditions of ``n_obs`` observations.

    Raises:
        TypeError, ValueError: If they cannot be used; the message says why.
    """
    if conditions is None:
        return None
    if isinstance(conditions, Mapping):
        values: Any = _named_arrays("conditions", conditions)
        named = {f"conditions[{name!r}]": array for name, array in values.items()}
    else:
        values = check_numbers("conditions", conditions)
        named = {"conditions": values}
    for name, array in named.items():
        if array.ndim == 0 or len(array) != n_obs:
            raise ValueError(
                f"{name}: expected an array of shape ({n_obs}, ...), one condition for each "
                f"observation, got the shape {array.shape}."
            )
        if array.size == 0 or not np.all(np.isfinite(array.astype(np.float64))):
            raise ValueError(
                f"{name}: expected finite numbers, got {_first_bad(array)}. Every condition has to "
                "be known; leave the observation out, or make the condition a parameter."
            )
    flat = np.concatenate([a.reshape(n_obs, -1).astype(np.float64) for a in named.values()], axis=1)
    spread = flat.std(axis=0)
    rows = (flat - flat.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Conditions(values, rows.astype(np.float32))


def _named_arrays(name: str, value: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    if not value:
        raise ValueError(f"{name}: expected at least one entry, got an empty dict.")
    for key in value:
        if not isinstance(key, str) or not key:
            raise TypeError(f"{name}: expected names that are strings, got {key!r}.")
    return {key: check_numbers(f"{name}[{key!r}]", entry) for key, entry in value.items()}


def _check_filled(name: str, array: np.ndarray) -> None:
    if array.ndim == 0:
        raise ValueError(
            f"{name}: expected an array of shape (N, *event), got a single number. "
            "Pass [x] for one observation."
        )
    if array.size == 0:
        raise ValueError(f"{name}: expected at least one observation, got shape {array.shape}.")


def _check_lengths(name: str, arrays: dict[str, np.ndarray]) -> None:
    lengths = {key: len(array) for key, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{length} of {key!r}" for key, length in lengths.items())
        raise ValueError(
            f"{name}: expected as many observations in every entry, got {shown}. The first axis "
            "of every array counts the observations."
        )


def _check_finite(single: np.ndarray, wrong: np.ndarray) -> None:
    if not np.any(wrong):
        return
    bad = np.unique(np.argwhere(wrong)[:, 0])
    gaps = "" if np.all(np.isfinite(single) | ~wrong | np.isinf(single)) else " or say missing=True"
    raise ValueError(
        f"observed: {bad.size} of {len(single)} observations are not finite in single "
        f"precision (the first is number {bad[0]}). Remove or impute them{gaps}, or change units."
    )


def _check_gaps(seen: Bool[np.ndarray, "N *event"], *, by_design: bool) -> None:
    """Refuse observations, and features, of which nothing was measured."""
    rows = seen.reshape(len(seen), -1)
    if by_design and not np.all(rows.any(axis=1)):
        first = int(np.flatnonzero(~rows.any(axis=1))[0])
        raise ValueError(
            f"observed: nothing of observation {first} was measured. Leave it out; or say "
            'missing="simulated" if the simulator itself leaves values out, as after a deadline.'
        )
    if by_design and not np.all(rows.any(axis=0)):
        first = int(np.flatnonzero(~rows.any(axis=0))[0])
        raise ValueError(
            f"observed: feature {first} was measured in no observation. Leave it out, here and in "
            "the simulator."
        )


def means_of_seen(array: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The mean of each feature's measured values, or zero."""
    total = np.sum(np.where(seen, array, 0.0), axis=0)
    return np.asarray(total / np.maximum(seen.sum(axis=0), 1))


def _padded(observed: Any) -> Any:
    """Sequences of unequal lengths as one array, with NaN behind the ends of the shorter ones."""
    if not isinstance(observed, list | tuple):
        return observed
    rows = [check_numbers(f"observed[{i}]", row) for i, row in enumerate(observed)]
    if len({row.shape for row in rows}) <= 1:
        return observed
    if len({row.shape[1:] for row in rows}) > 1 or any(row.ndim == 0 for row in rows):
        raise ValueError(
            "observed: expected sequences of unequal lengths whose elements have the same shape, "
            f"got the shapes {rows[0].shape}, {rows[1].shape}, ..."
        )
    whole = np.full((len(rows), max(map(len, rows)), *rows[0].shape[1:]), np.nan)
    for target, row in zip(whole, rows, strict=True):
        target[: len(row)] = row
    return whole


def _first_bad(array: np.ndarray) -> str:
    if array.size == 0:
        return f"the shape {array.shape}"
    row = np.flatnonzero(~np.isfinite(array.astype(np.float64)).reshape(len(array), -1).all(1))[0]
    return f"{np.array2string(array[row], threshold=20)} in row {row}"


def _check_range(observed: np.ndarray) -> None:
    """Refuse features that single precision, or simulations around them, would lose."""
    largest = np.max(np.abs(observed.reshape(len(observed), -1).astype(np.float64)), axis=0)
    for wrong, limit in ((largest > _LARGEST, "above 1e35"), (largest < _SMALLEST, "below 1e-35")):
        bad = np.flatnonzero(wrong & (largest > 0))
        if bad.size:
            raise ValueError(
                f"observed: feature {bad[0]} is of size {largest[bad[0]]:.1g}. Single precision "
                f"cannot compute with values {limit}. Change the units: multiply the feature by a "
                "constant, in the observations and in the simulator."
            )
