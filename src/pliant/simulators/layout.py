"""The structure of an observation or a condition: one array, or several by name.

Workers import this module, so it imports neither JAX nor the rest of Pliant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


class LayoutError(ValueError):
    """A structure is not the expected one."""


@dataclass(frozen=True)
class Layout:
    """Where the entries of a structure stand in one array.

    A single array keeps its shape. Several arrays are flattened and concatenated, in the order of
    their names here.
    """

    names: tuple[str, ...] | None
    """None for a single array without a name."""
    shapes: tuple[tuple[int, ...], ...]

    @property
    def event(self) -> tuple[int, ...]:
        """The shape of the one array."""
        return self.shapes[0] if self.names is None else (sum(map(math.prod, self.shapes)),)

    @property
    def shown(self) -> str:
        """The expected structure, for a message."""
        if self.names is None:
            return f"an array of the shape {self.shapes[0]}"
        entries = zip(self.names, self.shapes, strict=True)
        return f"a dict with {', '.join(f'{name!r} of the shape {s}' for name, s in entries)}"

    def joined(self, value: Any, *, lead: int = 0, xp: ModuleType = np) -> Any:
        """The one array of a structure whose entries have ``lead`` leading axes.

        Args:
            value: An array, or a dict of arrays.
            lead: Leading axes that all entries share.
            xp: ``numpy`` or ``jax.numpy``.

        Raises:
            LayoutError: If the structure is another one.
        """
        entries = self.entries(value, xp)
        shapes = tuple(np.shape(entry)[lead:] for entry in entries)
        if shapes != self.shapes:
            raise LayoutError(f"expected {self.shown}, got {_shown(value, entries, lead)}")
        if self.names is None:
            return entries[0]
        flat = [entry.reshape(*entry.shape[:lead], -1) for entry in entries]
        return xp.concatenate(flat, axis=lead)

    def entries(self, value: Any, xp: ModuleType = np) -> list[Any]:
        """The arrays of a structure, in order.

        Raises:
            LayoutError: If the names are others.
        """
        if self.names is None:
            if isinstance(value, Mapping):
                raise LayoutError(f"expected {self.shown}, got a dict with {_listed(value)}")
            return [xp.asarray(value)]
        if not isinstance(value, Mapping):
            raise LayoutError(f"expected {self.shown}, got {type(value).__name__}")
        if set(value) != set(self.names):
            raise LayoutError(f"expected {self.shown}, got a dict with {_listed(value)}")
        return [xp.asarray(value[name]) for name in self.names]

    def split(self, x: Any, *, lead: int = 0) -> Any:
        """The structure of one array: the inverse of ``joined``."""
        if self.names is None:
            return x
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        starts = [0, *ends[:-1].tolist()]
        return {
            name: x[..., start:end].reshape(*x.shape[:lead], *shape)
            for name, shape, start, end in zip(self.names, self.shapes, starts, ends, strict=True)
        }


def layout_of(value: Any, *, lead: int) -> Layout:
    """The layout of arrays that share ``lead`` leading axes."""
    if isinstance(value, Mapping):
        shapes = tuple(tuple(np.shape(entry)[lead:]) for entry in value.values())
        return Layout(tuple(value), shapes)
    return Layout(None, (tuple(np.shape(value)[lead:]),))


def _listed(value: Mapping[Any, Any]) -> str:
    return ", ".join(repr(name) for name in value) or "no entries"


def _shown(value: Any, entries: list[Any], lead: int) -> str:
    shapes = [np.shape(entry)[lead:] for entry in entries]
    if not isinstance(value, Mapping):
        return f"the shape {shapes[0]}"
    named = zip(value, shapes, strict=True)
    return f"a dict with {', '.join(f'{name!r} of the shape {shape}' for name, shape in named)}"
