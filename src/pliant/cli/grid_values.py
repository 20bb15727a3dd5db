"""Checks of the values in a grid file; each message names the file and the key."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pliant.cli.choices import closest


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


Check = Callable[[Place, Any], Any]
"""Returns the value that stands at a place, or raises a ``GridError``."""


def table(
    place: Place,
    value: Any,
    checks: Mapping[str, Check] | None = None,
    *,
    needed: Collection[str] = (),
    of: str = "",
) -> dict[str, Any]:
    """A table with all needed keys and, if there are checks, only keys that pass theirs.

    ``of`` says in messages what has these keys.
    """
    if not isinstance(value, dict):
        raise place.error("a table", value)
    allowed = value if checks is None else checks
    for key in value:
        if key not in allowed:
            expected = f"one of the keys {', '.join(allowed)}{of}"
            raise (place / key).error(expected, key, closest(key, allowed))
    for key in needed:
        if key not in value:
            raise GridError(f"{place}: the key {key!r} is missing.")
    if checks is None:
        return value
    return {key: checks[key](place / key, entry) for key, entry in value.items()}


def expect(expected: str, test: Callable[[Any], bool], names: Collection[str] = ()) -> Check:
    """Values that pass a test; the message suggests the closest of ``names``."""

    def check(place: Place, value: Any) -> Any:
        if not test(value):
            raise place.error(expected, value, closest(str(value), names))
        return value

    return check


def each(check: Check) -> Check:
    """One value or a list of different ones, as a list."""

    def check_each(place: Place, value: Any) -> list[Any]:
        values = value if isinstance(value, list) else [value]
        if any(values.count(entry) > 1 for entry in values):
            raise place.error("every value once", value)
        return [check(place, entry) for entry in values]

    return check_each


def integer(at_least: int) -> Check:
    """Integers of at least ``at_least``."""
    expected = f"an integer of at least {at_least}"
    return expect(expected, lambda value: type(value) is int and value >= at_least)


def name_of(allowed: Collection[str]) -> Check:
    """Some names."""
    return expect(", ".join(allowed), lambda value: value in list(allowed), allowed)


boolean = expect("true or false", lambda value: isinstance(value, bool))
