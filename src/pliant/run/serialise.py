"""The only serialiser: values <-> JSON data and arrays. Reading runs no code from a file.

JSON has null, booleans, strings, integers and finite floats as they are. A JSON array is a tuple.
Everything else is an object with a tag: ``{"class": "Gaussian", ...}`` with all declared fields of
an equinox module or a named tuple, ``{"list": [...]}``, ``{"dict": {...}}``, ``{"float": "nan"}``,
``{"status": "finished"}``, ``{"function": "silu"}``, ``{"jax": ...}`` and others.
Classes and functions are looked up in the tables of ``classes.py``; nothing is imported by name.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions.constraints import Constraint

from pliant._files import parse_json, read_arrays, write_arrays
from pliant.methods.status import Status
from pliant.run.classes import CLASSES, FUNCTIONS, SUPPORTS
from pliant.run.folder import FORMAT, check_format
from pliant.run.validate import check_fields, check_support

_TREE = "tree"
_ARRAYS = {"jax": jax.Array, "numpy": np.ndarray, "scalar": np.generic}
_NUMBERS = "biuf"  # kinds of arrays that can stand in JSON
_LONGEST = 500  # characters of a reason


def encode(value: Any, where: str = "value", arrays: dict[str, np.ndarray] | None = None) -> Any:
    """A value as JSON data.

    Args:
        value: Options, a state or a posterior.
        where: What a message calls the value.
        arrays: Takes the arrays, to which the data refer by name; None writes them as lists.

    Raises:
        TypeError: If a part of it cannot be written, such as a user's own function.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Status):
        return {"status": value.value}
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return _encode_array(value, where, arrays)
    if type(value) in (tuple, list):
        entries = [encode(e, f"{where}[{index}]", arrays) for index, e in enumerate(value)]
        return entries if type(value) is tuple else {"list": entries}
    if type(value) is dict and all(type(name) is str for name in value):
        return {"dict": {n: encode(e, f"{where}[{n!r}]", arrays) for n, e in value.items()}}
    if isinstance(value, Constraint) and SUPPORTS.get(type(value).__name__) is type(value):
        leaves, (names, settings) = value.tree_flatten()
        fields = {**dict(zip(names, leaves, strict=True)), **settings}
        return {"support": type(value).__name__, "fields": encode(fields, where, arrays)}
    if isinstance(value, eqx.Module) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        names = _declared(type(value))
        fields = {n: encode(getattr(value, n), f"{where}.{n}", arrays) for n in names}
        return {"class": _class_name(type(value), where), **fields}
    for name, function in FUNCTIONS.items():
        if value is function:
            return {"function": name}
    raise TypeError(
        f"{where}: {value!r} cannot be written to a file. A file holds numbers, strings, arrays, "
        "and classes with such fields, but no functions and no other objects."
    )


def decode(
    data: Any, arrays: Mapping[str, np.ndarray] | None = None, own: Mapping[str, type] | None = None
) -> Any:
    """The value that ``encode`` was given, bit for bit.

    Modules are made without their constructor: exactly their declared fields are set, and then
    converted and checked as the constructor does. Fields of Pliant's own classes are compared with
    their annotations too. Every array is used exactly once.

    Args:
        data: What ``encode`` returned.
        arrays: What it put into its ``arrays``.
        own: A user's own classes that the value holds, from ``by_name``.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: If the data are not of this form.
    """
    unused = dict(arrays or {})
    value = _decode(data, unused, {**(own or {}), **CLASSES})
    if unused:
        raise ValueError(f"nothing refers to the arrays {sorted(unused)}.")
    return value


def by_name(classes: Iterable[type]) -> dict[str, type]:
    """The argument ``classes`` of ``load`` and ``resume``, checked."""
    own = tuple(classes)
    if not all(isinstance(kind, type) for kind in own):
        raise TypeError(f"classes: expected a list of classes, got {list(own)!r}.")
    return {kind.__name__: kind for kind in own}


def write_value(path: Path, value: Any) -> None:
    """Write a value as one file of arrays.

    Raises:
        TypeError: If a part of it cannot be written.
        StorageError: If the file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    tree = {"format": FORMAT, "value": encode(value, path.name, arrays)}
    write_arrays(path, {_TREE: np.array(json.dumps(tree, allow_nan=False)), **arrays})


def read_value(path: Path, own: Mapping[str, type] | None = None) -> Any:
    """Read what ``write_value`` wrote.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    arrays = read_arrays(path)
    with reading(path):
        tree = parse_json(_text(arrays.pop(_TREE)))
    check_format(path, tree)
    with reading(path):
        check_names(tree, ("format", "value"))
        return decode(tree["value"], arrays, own)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file in errors about its content, whatever they are, in one line."""
    try:
        yield
    except Exception as error:  # checks of classes and JAX's tracing raise errors of many types
        text = " ".join(str(error).split())[:_LONGEST]
        named = not text or not isinstance(error, ValueError | TypeError)
        reason = f"{_name(error)}: {text}".rstrip(": ") if named else text
        raise ValueError(f"{path}: damaged, or not written by Pliant: {reason}") from error


def check_names(fields: Mapping[str, Any], expected: Iterable[str]) -> None:
    """Raise a ``ValueError`` if there are other fields than expected, or fewer."""
    if set(fields) != set(expected):
        raise ValueError(f"expected the fields {sorted(expected)}, got {sorted(fields)}.")


def build(kind: Any, fields: dict[str, Any]) -> Any:
    """An object with exactly its declared fields, checked as its constructor does."""
    declared = _declared(kind)
    try:
        check_names(fields, declared)
    except ValueError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error
    values = {n: fields[n] if c is None else c(fields[n]) for n, c in declared.items()}
    if kind.__module__.split(".")[0] in ("pliant", "equinox"):
        check_fields(kind, values)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, values.values())
    module = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(module, name, value)
    for base in kind.__mro__:
        if "__check_init__" in vars(base):
            vars(base)["__check_init__"](module)
    return module


def _encode_array(value: Any, where: str, arrays: dict[str, np.ndarray] | None) -> Any:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        words = _encode_array(np.asarray(jax.random.key_data(value)), where, arrays)
        return {"key": words, "impl": str(jax.random.key_impl(value))}
    tag = next(tag for tag, kind in _ARRAYS.items() if isinstance(value, kind))
    array = np.asarray(value)
    if arrays is not None:
        name = f"array_{len(arrays)}"
        arrays[name] = array
        return {tag: name}
    if array.dtype.kind not in _NUMBERS:
        raise TypeError(f"{where}: expected an array of numbers, got {value!r}.")
    values = [encode(number) for number in array.ravel().tolist()]
    return {tag: {"dtype": array.dtype.str, "shape": list(array.shape), "values": values}}


def _decode(data: Any, arrays: dict[str, np.ndarray], known: Mapping[str, Any]) -> Any:
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return tuple(_decode(entry, arrays, known) for entry in data)
    if "class" in data:
        fields = {n: _decode(e, arrays, known) for n, e in data.items() if n != "class"}
        return build(_class_named(data["class"], known), fields)
    match sorted(data.items()):
        case [("float", "nan" | "inf" | "-inf" as text)]:
            return float(text)
        case [("status", str(text))]:
            return Status(text)
        case [("function", str(name))]:
            return FUNCTIONS[name]
        case [("list", list(entries))]:
            return [_decode(entry, arrays, known) for entry in entries]
        case [("dict", dict(entries))]:
            return {name: _decode(entry, arrays, known) for name, entry in entries.items()}
        case [("fields", fields), ("support", str(name))]:
            return _support(SUPPORTS[name], _decode(fields, arrays, known))
        case [("impl", str(impl)), ("key", {"numpy": words, **others})] if not others:
            return jax.random.wrap_key_data(jnp.asarray(_array(words, arrays)), impl=impl)
        case [("jax", content)]:
            return jnp.asarray(_array(content, arrays))
        case [("numpy", content)]:
            return _array(content, arrays)
        case [("scalar", content)] if not (array := _array(content, arrays)).shape:
            return array[()]
    raise ValueError(f"{sorted(data)} are not the tags of anything that a file holds.")


def _array(content: Any, arrays: dict[str, np.ndarray]) -> np.ndarray:
    if isinstance(content, str):  # used once: a small file cannot ask for many copies
        return arrays.pop(content)
    check_names(content, ("dtype", "shape", "values"))
    dtype = np.dtype(content["dtype"])
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"expected numbers, got an array of the type {dtype}.")
    values = [_decode(number, {}, {}) for number in content["values"]]
    return np.array(values, dtype).reshape(content["shape"])


def _support(kind: Any, fields: dict[str, Any]) -> Constraint:
    probe = object.__new__(kind)  # kind() may be the one instance that everybody shares
    vars(probe).update(fields)
    leaves, (names, settings) = kind.tree_flatten(probe)
    if {*names, *settings} != set(fields):
        raise ValueError(f"{kind.__name__}: expected {[*names, *settings]}, got {sorted(fields)}.")
    check_support(kind, fields)
    return kind.tree_unflatten((names, settings), leaves)


def _text(array: np.ndarray) -> str:
    if array.dtype.kind != "U" or array.shape:
        raise ValueError(f"{_TREE}: expected a text, got an array of the type {array.dtype}.")
    return str(array)


def _name(error: Exception) -> str:
    return type(error).__name__


def _declared(kind: Any) -> dict[str, Any]:
    """The declared fields of a module or a named tuple, each with its converter or None."""
    if hasattr(kind, "_fields"):
        return dict.fromkeys(kind._fields)
    return {f.name: f.metadata.get("converter") for f in dataclasses.fields(kind)}


def _class_name(kind: type, where: str) -> str:
    if CLASSES.get(kind.__name__, kind) is not kind:
        raise TypeError(
            f"{where}: your class {kind.__name__} has the name of a class of Pliant. Rename it, "
            "so that files can tell them apart."
        )
    return kind.__name__


def _class_named(name: Any, known: Mapping[str, Any]) -> Any:
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None or not (issubclass(kind, eqx.Module) or hasattr(kind, "_fields")):
        raise ValueError(
            f"class: {name!r} is not a class of Pliant. If it is yours, pass classes=[{name}]."
        )
    return kind
