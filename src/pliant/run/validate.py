"""What a file held is what its place needs: types of fields, kinds and axes of arrays, shapes."""

import functools
import math
import numbers
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from numpyro.distributions.constraints import Constraint

from pliant.densities.base import AbstractDensity, is_finite
from pliant.densities.gaussian import GaussianDensity
from pliant.methods.base import AbstractMethod
from pliant.problem.space import Space
from pliant.run.classes import CLASSES

_BATCHED = (GaussianDensity,)  # a mixture's components are one Gaussian with a leading axis
_ARRAY = (jax.Array, np.ndarray)
_NUMBERS = "biufc"


def check_fields(kind: Any, fields: Mapping[str, Any]) -> None:
    """Check the fields of a class against its annotations.

    Axes of the same name have the same length in all arrays of an object.

    Raises:
        TypeError: If a field is not what the class declares.
    """
    axes: dict[str, Any] = {"batch": None if kind in _BATCHED else ()}
    for name, hint in _hints(kind).items():
        if name in fields and not _fits(fields[name], hint, axes):
            shown = getattr(hint, "__name__", str(hint))
            got = _described(fields[name])
            raise TypeError(f"{kind.__name__}.{name}: expected {shown}, got {got}.")


def check_support(kind: type, fields: Mapping[str, Any]) -> None:
    """Raise a ``TypeError`` if the fields of a support are not numbers or supports."""
    for name, value in fields.items():
        if not _fits_support(value):
            raise TypeError(f"{kind.__name__}.{name}: expected numbers, got {_described(value)}.")


def check_density(density: Any, space: Space) -> None:
    """Trace a density that was read from a file, without computing anything.

    Raises:
        Exception: Of any kind, if its arrays do not fit together or to the space.
    """
    if not isinstance(density, AbstractDensity):
        raise TypeError(f"expected a density, got {_described(density)}.")
    if density.dim != space.dim:
        raise ValueError(f"expected a density of {space.dim} dimensions, got {density.dim}.")
    if not is_finite(density):
        raise ValueError("expected finite numbers.")
    if type(density) in CLASSES.values():  # a user's own may not be traceable
        z = jax.eval_shape(lambda: density.sample(jax.random.key(0), 3))
        values = jax.eval_shape(density.log_prob, z)
        if (z.shape, values.shape) != ((3, space.dim), (3,)):
            raise ValueError(f"expected a density of {space.dim} dimensions, got {z.shape[1:]}.")


def check_space(space: Space) -> None:
    """The same for the space of the parameters."""
    if space.loc.shape != (space.dim,):
        raise ValueError(f"expected a space of {space.dim} dimensions, got {space.loc.shape}.")
    jax.eval_shape(space.constrain_with_log_det, space.loc)
    for leaf in jax.tree.leaves(eqx.filter(space, eqx.is_inexact_array)):
        if not np.all(np.isfinite(leaf)):
            raise ValueError("expected finite numbers.")


def check_state(state: Any, method: AbstractMethod, space: Space) -> None:
    """Check that a state can be the one of a method: its classes, and its posterior.

    Raises:
        Exception: Of any kind, if it cannot.
    """
    _check_argument(state, method.step)
    evaluate = getattr(getattr(method, "discrepancy", None), "evaluate", None)
    if evaluate is not None and hasattr(state, "discrepancy"):
        _check_argument(state.discrepancy, evaluate)
    density = method.posterior(state)
    if density is not None:
        check_density(density, space)


def _check_argument(state: Any, function: Any) -> None:
    """Compare with the annotation of a function's argument ``state``, if there is one."""
    try:
        hint = get_type_hints(function).get("state", Any)
    except NameError:  # a user's own method, with an annotation that only a type checker reads
        return
    if not _fits(state, hint, {"batch": ()}):
        raise TypeError(f"expected {getattr(hint, '__name__', hint)}, got {_described(state)}.")


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any, axes: dict[str, Any]) -> bool:
    """Whether a value is what a hint says. ``axes`` takes the lengths of the axes so far."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any or hint is PyTree:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, arg, axes) for arg in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:
        if type(value) is not tuple:
            return False
        each = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(each) == len(value) and all(
            _fits(entry, arg, axes) for entry, arg in zip(value, each, strict=True)
        )
    if origin is dict:
        return type(value) is dict and all(
            _fits(name, args[0], axes) and _fits(entry, args[1], axes)
            for name, entry in value.items()
        )
    if Callable in (origin, hint):
        return callable(value)
    if hasattr(hint, "dim_str"):
        return _fits_array(value, hint, axes)
    return _is_instance(value, hint)


def _is_instance(value: Any, kind: type) -> bool:
    if kind is float:  # an int may stand for a float
        real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        return real and not (isinstance(value, float | np.floating) and math.isnan(value))
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    return isinstance(value, _ARRAY if kind is jax.Array else kind)


def _fits_array(value: Any, hint: Any, axes: dict[str, Any]) -> bool:
    """The kind of numbers and the axes of an array, such as ``Float[Array, "N *event"]``."""
    if not isinstance(value, _ARRAY):
        return False
    is_key = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    if ("prng_key" if is_key else value.dtype.name) not in hint.dtypes:
        return False
    names, shape = hint.dim_str.split(), value.shape
    some = next((i for i, name in enumerate(names) if name.startswith("*")), None)
    if some is not None:  # any number of axes
        stop = len(shape) - (len(names) - some - 1)
        if stop < some or axes.setdefault(names[some], shape[some:stop]) != shape[some:stop]:
            return False
        names, shape = names[:some] + names[some + 1 :], shape[:some] + shape[stop:]
    batch = shape[: max(len(shape) - len(names), 0)]
    if axes["batch"] is None:
        axes["batch"] = batch
    return (
        axes["batch"] == batch
        and len(shape) - len(batch) == len(names)
        and all(
            size == (int(name) if name.isdigit() else axes.setdefault(name, size))
            for name, size in zip(names, shape[len(batch) :], strict=True)
        )
    )


def _fits_support(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_fits_support, value))
    if isinstance(value, jax.Array | np.ndarray | np.generic | float):
        array = np.asarray(value)
        return array.dtype.kind in _NUMBERS and not np.any(np.isnan(array))
    return value is None or isinstance(value, bool | int | Constraint)


def _described(value: Any) -> str:
    if isinstance(value, _ARRAY):
        return f"an array of the type {value.dtype} and shape {value.shape}"
    return (
        repr(value) if isinstance(value, float) else f"a value of the type {type(value).__name__}"
    )
