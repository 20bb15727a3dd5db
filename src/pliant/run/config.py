"""Options as data: a method, family or discrepancy <-> plain JSON."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

import pliant


def encode(value: Any) -> Any:
    """Options as JSON data; a module becomes a dict with its class's name under ``"class"``."""
    if isinstance(value, eqx.Module):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    if isinstance(value, tuple | list):
        return [encode(entry) for entry in value]
    if hasattr(value, "shape"):
        return np.asarray(value).tolist()
    return value


def decode(data: Any, classes: Iterable[type] = ()) -> Any:
    """The inverse of ``encode``. Only Pliant's public classes and ``classes`` can be named."""
    return _decode(data, tuple(classes))


def _decode(data: Any, classes: tuple[type, ...]) -> Any:
    if isinstance(data, Mapping):
        options = {name: _decode(value, classes) for name, value in data.items() if name != "class"}
        return _class_named(data.get("class"), classes)(**options)
    if isinstance(data, list):
        return tuple(_decode(entry, classes) for entry in data)
    return data


def _class_named(name: Any, classes: tuple[type, ...]) -> Any:
    for kind in classes:
        if kind.__name__ == name:
            return kind
    kind = getattr(pliant, name) if name in pliant.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, eqx.Module)):
        raise ValueError(
            f"class: {name!r} is not a class of Pliant. If it is yours, pass classes=[...]"
        )
    return kind
