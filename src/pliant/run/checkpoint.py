"""Any state of a method <-> a file of arrays and JSON, from which nothing is unpickled.

Objects are written by the names of their classes, with their fields. Reading looks these names up
among classes that are loaded already, makes the objects without calling any code of
theirs, and refuses everything but equinox modules, named tuples, and functions of JAX and Pliant.
"""

import dataclasses
import importlib
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pliant._files import read_arrays, write_arrays

_TRUSTED = ("pliant", "jax", "equinox")  # packages whose functions a state may hold
_TREE = "tree"


def write_checkpoint(path: Path, value: Any) -> None:
    """Write a tree of modules, containers, arrays and numbers as one file.

    Raises:
        TypeError: If something in it cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(value, arrays, str(path.name))
    write_arrays(path, {_TREE: np.array(json.dumps(tree, allow_nan=False)), **arrays})


def read_checkpoint(path: Path) -> Any:
    """What ``write_checkpoint`` wrote, bit for bit.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    arrays = read_arrays(path)
    try:
        return _decode(json.loads(str(arrays[_TREE])), arrays)
    except (LookupError, TypeError, ValueError, AttributeError, ImportError) as error:
        raise ValueError(f"{path}: damaged, or of another version: {error}.") from error


def _encode(value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = _encode(np.asarray(jax.random.key_data(value)), arrays, where)
        return {"key": data, "impl": str(jax.random.key_impl(value))}
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        kind = {jax.Array: "jax", np.ndarray: "numpy"}
        name = next((kind[k] for k in kind if isinstance(value, k)), "scalar")
        arrays[f"array_{len(arrays)}"] = np.asarray(value)
        return {name: f"array_{len(arrays) - 1}"}
    if isinstance(value, list):
        return {"list": [_encode(entry, arrays, where) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _encode(entry, arrays, where)] for key, entry in value.items()]}
    if isinstance(value, tuple):
        entries = [_encode(entry, arrays, where) for entry in value]
        named = {"named": _name(type(value))} if hasattr(value, "_fields") else {}
        return {"tuple": entries, **named}
    if isinstance(value, eqx.Module):
        present = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
        fields = {name: _encode_field(value, name, arrays, f"{where}.{name}") for name in present}
        return {"module": _name(type(value)), "fields": fields}
    if callable(value) and _resolved(_name(value)) is value:
        return {"function": _name(value)}
    raise TypeError(f"{where}: {value!r} cannot be written to a file without pickle.")


def _encode_field(module: eqx.Module, name: str, arrays: dict[str, np.ndarray], where: str) -> Any:
    """A field; a function without a name may be the default of its argument."""
    value = getattr(module, name)
    if (
        callable(value)
        and not isinstance(value, eqx.Module)
        and _default(type(module), name) is value
    ):
        return {"default": _name(type(module)), "of": name}
    return _encode(value, arrays, where)


def _decode(data: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(data, dict):
        return data
    match data:
        case {"float": text}:
            return float.fromhex(text)
        case {"key": words, "impl": impl}:
            return jax.random.wrap_key_data(jnp.asarray(_decode(words, arrays)), impl=impl)
        case {"jax": name}:
            return jnp.asarray(arrays[name])
        case {"numpy": name}:
            return arrays[name]
        case {"scalar": name}:
            return arrays[name][()]
        case {"list": entries}:
            return [_decode(entry, arrays) for entry in entries]
        case {"dict": pairs}:
            return {key: _decode(entry, arrays) for key, entry in pairs}
        case {"tuple": entries, "named": name}:
            return tuple.__new__(_class(name, tuple), [_decode(e, arrays) for e in entries])
        case {"tuple": entries}:
            return tuple(_decode(entry, arrays) for entry in entries)
        case {"module": name, "fields": fields}:
            module = object.__new__(_class(name, eqx.Module))
            for field, entry in fields.items():
                object.__setattr__(module, field, _decode(entry, arrays))
            return module
        case {"function": name} if name.partition(".")[0] in _TRUSTED:
            return _resolved(name)
        case {"default": name, "of": argument}:
            return _default(_class(name, eqx.Module), argument)
    raise ValueError(f"{list(data)} is nothing that a checkpoint holds")


def _name(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    return f"{module}:{name}"


def _resolved(name: str) -> Any:
    """What a name stands for, in modules that are loaded already; None if nothing."""
    module, _, names = name.partition(":")
    if module.startswith("pliant."):
        importlib.import_module(module)
    value: Any = sys.modules.get(module)
    for part in names.split("."):
        value = getattr(value, part, None)
        if isinstance(value, ModuleType):
            return None
    return value


def _default(kind: type, argument: str) -> Any:
    """What an argument of a class's constructor is if it is not given; None if it must be."""
    found = inspect.signature(kind.__init__).parameters.get(argument)
    return None if found is None or found.default is found.empty else found.default


def _class(name: str, base: type) -> Any:
    kind = _resolved(name)
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise ValueError(f"{name} is not a class that is loaded")
    return kind
