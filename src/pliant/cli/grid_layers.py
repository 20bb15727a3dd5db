"""The options of a run come from several tables of a grid: its method's, and those that change it.

The last one wins, key by key also inside the tables of parts. What a run has of all of them is
written in one way, because it names the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from pliant.cli.grid_options import NONE, part_name
from pliant.cli.grid_values import GridError, Place

Options = Mapping[str, Any]


class Layer(NamedTuple):
    """A table of options, and where it stands."""

    place: Place
    given: Options


class Origin(Place):
    """A key of a run's options; in messages, where the last layer that gives it stands."""

    def __init__(self, layers: Sequence[Layer], keys: tuple[str, ...] = ()):
        self._layers, self._keys = layers, keys

    def __truediv__(self, key: str) -> "Origin":
        return Origin(self._layers, (*self._keys, key))

    def __str__(self) -> str:
        for n in range(len(self._keys), 0, -1):
            for place, given in reversed(self._layers):
                found = _found(given, self._keys[:n])
                if found:
                    return str(_at(place, (*found, *self._keys[n:])))
        return str(_at(self._layers[0].place, self._keys))


def without_shorthands(layer: Layer) -> dict[str, Any]:
    """The options, with ``epsilon`` in the schedule, and numbers of reference sets in a table.

    Raises:
        GridError: If epsilon is given twice.
    """
    options = dict(layer.given)
    if "epsilon" in options:
        schedule = options.get("schedule", {})
        schedule = {"name": schedule} if isinstance(schedule, str) else schedule
        if "epsilon" in schedule:
            raise GridError(f"{layer.place / 'epsilon'}: schedule.epsilon is given too; keep one.")
        options["schedule"] = {**schedule, "epsilon": options.pop("epsilon")}
    if isinstance(options.get("partition"), int):
        n_sets = options["partition"]
        options["partition"] = {"n_sets": n_sets} if n_sets else NONE
    return options


def merged(layers: Iterable[Layer], own: Any) -> dict[str, Any]:
    """The options of all layers without shorthands, for the method ``own`` before any of them.

    A table changes single keys of the one before, unless it names another kind of part.
    """
    return reduce(
        lambda old, new: _merge(old, new, own), (without_shorthands(layer) for layer in layers), {}
    )


def short(options: Options) -> dict[str, Any]:
    """The shortest way to write options, for which equal ones have equal names of runs."""
    found = {key: short_value(key, value) for key, value in options.items()}
    schedule = found.get("schedule")
    if isinstance(schedule, dict) and schedule.keys() == {"epsilon"}:
        found |= found.pop("schedule")
    return found


def short_value(key: str, value: Any) -> Any:
    """A name in place of a table that has nothing else, and a number for a partition function."""
    if key == "partition" and value == NONE:
        return 0
    if not isinstance(value, dict):
        return value
    found = {inner: short_value(inner, entry) for inner, entry in value.items()}
    alone = {"partition": "n_sets"}.get(key, "name")
    return found[alone] if found.keys() == {alone} else found


def _merge(old: Any, new: Any, own: Any) -> Any:
    """A new value in place of an old one; two tables of the same kind of part become one.

    ``own`` is what the method has there before any change: a table without a name is about it.
    """
    change = _as_table(new) if isinstance(old, dict) else new
    old = _as_table(old) if isinstance(new, dict) else old
    if not isinstance(old, dict) or not isinstance(change, dict):
        return new
    own_name = part_name(own)
    name = old.get("name", own_name)
    if change.get("name", name) != name:
        return new
    inside = own if name == own_name else None
    changes = {
        key: _merge(old.get(key), value, getattr(inside, key, None))
        for key, value in change.items()
    }
    return {**old, **changes}


def _as_table(value: Any) -> Any:
    """The table that the name of a part stands for; other values are as they were."""
    return {"name": value} if isinstance(value, str) and value != NONE else value


def _found(given: Options, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys under which options are given, which may be a shorthand; empty if they are not."""
    if keys == ("schedule", "epsilon") and "epsilon" in given:
        return ("epsilon",)
    if keys == ("partition", "n_sets") and isinstance(given.get("partition"), int):
        return ("partition",)
    value: Any = given
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return ()
        value = value[key]
    return keys


def _at(place: Place, keys: Iterable[str]) -> Place:
    return reduce(lambda inner, key: inner / key, keys, place)
