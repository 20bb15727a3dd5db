"""Simulators as bytes for workers, and which part of one cannot become bytes."""

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any

import cloudpickle

_DEPTH = 8  # of the search for the part
_ITEMS = 1000  # of a container that are searched


def pickled(call: Any) -> bytes:
    """A ``Call`` as bytes, functions of scripts and notebooks included.

    Raises:
        TypeError: Naming the simulator, and what in it cannot be pickled.
    """
    try:
        return cloudpickle.dumps(call)
    except Exception as error:
        function = getattr(call, "function", None) or getattr(call, "read", call)
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        what = " of ".join(reversed(_path(function, _DEPTH)))
        what = f"{what} cannot be pickled" if what else "it cannot be pickled"
        raise TypeError(
            f"simulator: {name} cannot be sent to workers, because {what} "
            f"({type(error).__name__}: {_first_line(error)}). Create such objects inside the "
            "function, or leave out workers= and executor=."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0].rstrip(".")


def _path(value: Any, depth: int) -> list[str]:
    """The way from a value that cannot be pickled to the smallest part of it that cannot."""
    for label, part in _parts(value) if depth else ():
        try:
            cloudpickle.dumps(part)
        except Exception:
            deeper = _path(part, depth - 1)
            return [label if deeper else f"{label} (a {type(part).__name__})", *deeper]
    return []


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What pickle stores of a value, with a label of each part."""
    if isinstance(value, types.FunctionType):
        code = value.__code__
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield f"the variable {name!r}", cell.cell_contents
            except ValueError:  # it has no value yet
                continue
        for name in code.co_names:
            if name in value.__globals__:
                yield f"the global variable {name!r}", value.__globals__[name]
        for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            yield "a default value", default
    elif isinstance(value, types.MethodType):
        yield "its object", value.__self__
    elif isinstance(value, functools.partial):
        yield "the partial function", value.func
        yield from ((f"the argument {i}", part) for i, part in enumerate(value.args))
        yield from ((f"the argument {name!r}", part) for name, part in value.keywords.items())
    elif isinstance(value, Mapping):
        yield from ((f"the entry {key!r}", value[key]) for key in list(value)[:_ITEMS])
    elif isinstance(value, list | tuple):
        yield from ((f"the entry {i}", part) for i, part in enumerate(value[:_ITEMS]))
    elif not isinstance(value, type | types.ModuleType):
        attributes = getattr(value, "__dict__", {})
        yield from ((f"the attribute {name!r}", part) for name, part in attributes.items())
