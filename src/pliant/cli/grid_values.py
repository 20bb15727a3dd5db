"""Checks of the values in a grid file; each message names the file and the key."""

from collections.abc import Collection, Mapping
from typing import Any

from pliant.cli.choices import DISCREPANCIES, FAMILIES, closest

NAMED = {"discrepancy": DISCREPANCIES, "family": FAMILIES}
INTEGERS = {"rounds": 1, "n_particles": 1, "n_draws": 1, "window": 1, "partition": 0}
"""Options that are integers, with their minima. ``partition`` is the number of reference sets for
the partition function; 0 disables it."""
NUMBERS = ("beta", "epsilon", "alpha")
OPTIONS = (*NAMED, *INTEGERS, *NUMBERS)


class GridError(ValueError):
    """A mistake in a grid file, in one line."""


class Place:
    """A key of a grid file, for messages: ``lite.toml: methods.PLI-MMD.rounds``."""

    def __init__(self, file: str, keys: tuple[str, ...] = ()):
        self._file, self._keys = file, keys

    def __truediv__(self, key: str) -> "Place":
        return Place(self._file, (*self._keys, key))

    def __str__(self) -> str:
        return f"{self._file}: {'.'.join(self._keys)}" if self._keys else self._file

    def error(self, expected: str, value: Any, hint: str = "") -> GridError:
        """The error that another value was expected here."""
        return GridError(f"{self}: expected {expected}, got {value!r}.{hint}")


def table(
    place: Place, value: Any, allowed: Collection[str] = (), *, needed: Collection[str] = ()
) -> Mapping[str, Any]:
    """A table that has all needed keys and only allowed ones."""
    if not isinstance(value, dict):
        raise place.error("a table", value)
    for key in value if allowed else ():
        if key not in allowed:
            raise (place / key).error(
                f"one of the keys {', '.join(allowed)}", key, closest(key, allowed)
            )
    for key in needed:
        if key not in value:
            raise GridError(f"{place}: the key {key!r} is missing.")
    return value


def as_list(value: Any) -> list[Any]:
    """The value, if it is a list, or else a list of it."""
    return value if isinstance(value, list) else [value]


def listed(place: Place, value: Any) -> list[Any]:
    """The value as a list without duplicates."""
    values = as_list(value)
    if any(values.count(entry) > 1 for entry in values):
        raise place.error("every value once", value)
    return values


def names(place: Place, value: Any, allowed: Collection[str]) -> list[str]:
    """The value as a list of allowed names."""
    return [name_of(place, entry, allowed) for entry in listed(place, value)]


def integers(place: Place, value: Any, *, at_least: int) -> list[int]:
    """The value as a list of integers of at least ``at_least``."""
    return [integer(place, entry, at_least=at_least) for entry in listed(place, value)]


def integer(place: Place, value: Any, *, at_least: int) -> int:
    """An integer of at least ``at_least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise place.error(f"an integer of at least {at_least}", value)
    return value


def boolean(place: Place, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise place.error("true or false", value)
    return value


def name_of(place: Place, value: Any, allowed: Collection[str]) -> str:
    """One of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise place.error(", ".join(allowed), value, closest(str(value), allowed))
    return value


def option(
    place: Place, value: Any, allowed: Collection[str], method: str, *, also: Collection[str] = ()
) -> None:
    """Check that the method has the option and that the value has the right type.

    Args:
        place: The key of the option.
        value: The value.
        allowed: The method's options.
        method: The method's name, for the message.
        also: Other keys that may stand beside it.
    """
    key = str(place).rpartition(".")[2]
    known = [name for name in OPTIONS if name in allowed]
    if key not in known:
        keys = [*also, *known]
        raise place.error(f"one of the keys {', '.join(keys)} ({method})", key, closest(key, keys))
    if key in NAMED:
        name_of(place, value, NAMED[key])
    elif key in INTEGERS:
        integer(place, value, at_least=INTEGERS[key])
    elif key == "beta" and value == "calibrated":
        return
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise place.error("a number", value)
