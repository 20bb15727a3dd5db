"""The options of methods and of their parts: what a grid may set, and what is built of it.

The options of a class are its fields, and their annotations say what is allowed, so that a new
field needs no line here. A part, such as a discrepancy or a schedule, is itself a class with
options: it is given by a name, by a table of its options, or by a table with the key ``name``.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import equinox as eqx
from jaxtyping import AbstractArray

from pliant.cli.choices import PARTS, closest, listed, method_class, preset, same_or_new
from pliant.cli.grid_values import Check, GridError, Place, name_of, table
from pliant.methods.base import AbstractMethod

NONE = "none"  # TOML has no null


class Rule(NamedTuple):
    """Which values an annotation allows, in words and as a test."""

    expected: list[str]
    fits: Callable[[Any], bool]


_PLAIN = {
    NoneType: Rule([f'"{NONE}"'], lambda value: value == NONE),
    bool: Rule(["true or false"], lambda value: isinstance(value, bool)),
    int: Rule(["an integer"], lambda value: type(value) is int),
    float: Rule(["a number"], lambda value: type(value) in (int, float)),
    str: Rule(["a string"], lambda value: isinstance(value, str)),
}
_N_SETS = Rule(
    ["a number of reference sets (0 for no partition function)"],
    lambda value: type(value) is int and value >= 0,
)


def options_of(method: str) -> dict[str, Check]:
    """The checks of a method's options: all its fields, and the shorthands for some."""
    hints = hints_of(method_class(method))
    checks = {name: check_of(hint) for name, hint in hints.items()}
    if "schedule" in hints:
        checks["epsilon"] = check_of(float)
    if "partition" in hints:
        checks["partition"] = check_of(hints["partition"], also=(_N_SETS,))
    return checks


def takes_list(method: str, option: str) -> bool:
    """Whether one value of the option is a list."""
    hint = hints_of(method_class(method)).get(option)
    return any(_is_list(member) for member in _members([hint]))


def check_of(*hints: Any, also: Iterable[Rule] = ()) -> Check:
    """The check for values of a field; several annotations are those of different classes."""
    members = _members(hints)
    rules = [*also, *(_rule_of(member) for member in members)]
    kinds, names = _parts_of(members)
    expected = listed([text for rule in rules for text in rule.expected])

    def check(place: Place, value: Any) -> Any:
        if isinstance(value, dict) and kinds:
            return _check_part(place, value, kinds, names)
        if not any(rule.fits(value) for rule in rules):
            raise place.error(expected, value, closest(str(value), names))
        return value

    return check


def build_method_of(
    place: Place, method: str, n_obs: int, options: Mapping[str, Any]
) -> AbstractMethod:
    """The method with options that have passed their checks, without shorthands.

    Raises:
        GridError: If an option is out of range, or if a part that the table does not name lacks it.
    """
    own = preset(method, n_obs)
    hints = hints_of(type(own))
    changes = {
        key: _build(place / key, getattr(own, key), hints[key], value)
        for key, value in options.items()
    }
    return _made(place, lambda: preset(method, n_obs, **changes))


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The annotations of the fields that a class takes."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


@cache
def named_kinds(hint: Any) -> dict[str, type]:
    """The parts with a name that are of the annotated class."""
    if not _is_part(hint):
        return {}
    kinds = ((name, resolve_name(path)) for names in PARTS.values() for name, path in names.items())
    return {name: kind for name, kind in kinds if issubclass(kind, hint)}


def part_name(part: Any) -> str | None:
    """The name of a part's class; None if it has none."""
    return next((name for name, kind in named_kinds(type(part)).items()), None)


def _parts_of(members: Iterable[Any]) -> tuple[dict[str, type], list[str]]:
    """The classes that a table can describe by their names, and which of these it can give.

    A class that is in no table of names has only one kind, and goes by its own name in messages.
    """
    parts = [member for member in members if _is_part(member)]
    named = {name: kind for part in parts for name, kind in named_kinds(part).items()}
    unnamed = {part.__name__: part for part in parts if not named_kinds(part)}
    return named | unnamed, list(named)


def _check_part(
    place: Place, value: Any, kinds: Mapping[str, type], names: Sequence[str]
) -> dict[str, Any]:
    """A table of options that one of the kinds has, or that the one has which it names."""
    checks = {"name": name_of(names)} if names else {}
    if names and "name" in value:
        name = checks["name"](place / "name", value["name"])
        kinds = {name: kinds[name]}
    hints: dict[str, list[Any]] = {}
    for kind in kinds.values():
        for key, hint in hints_of(kind).items():
            hints.setdefault(key, []).append(hint)
    checks |= {key: check_of(*found) for key, found in hints.items()}
    return table(place, value, checks, of=f" ({listed(kinds)})")


def _build(place: Place, own: Any, hint: Any, value: Any) -> Any:
    """What a value of a grid stands for, where the method or its preset has ``own``."""
    members = _members([hint])
    if value == NONE and NoneType in members:
        return None
    kinds, names = _parts_of(members)
    if isinstance(value, dict) or value in names:
        given = value if isinstance(value, dict) else {"name": value}
        return _build_part(place, own, kinds, names, given)
    return _as_annotated(members, value)


def _build_part(
    place: Place,
    own: Any,
    kinds: Mapping[str, type],
    names: Sequence[str],
    given: Mapping[str, Any],
) -> Any:
    """A part of the kind that the table names, or else of the kind that is there already."""
    if "name" in given:
        part = same_or_new(own, kinds[given["name"]])
    elif own is None and len(kinds) > 1:
        raise GridError(f"{place}: the key 'name' is missing: {listed(names)}.")
    else:
        part = next(iter(kinds.values()))() if own is None else own
    kind = type(part)
    _check_part(place, given, {part_name(part) or kind.__name__: kind}, names)
    changes = {
        key: _build(place / key, getattr(part, key), hints_of(kind)[key], entry)
        for key, entry in given.items()
        if key != "name"
    }
    return _made(place, lambda: dataclasses.replace(part, **changes))


def _made(place: Place, make: Callable[[], Any]) -> Any:
    """What ``make`` returns; a value that a class refuses is an error at its key."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        text = (str(error).splitlines() or [repr(error)])[0]
        key, rest = re.fullmatch(r"(?:([\w\[\]]+): )?(.*)", text).groups()  # pyright: ignore
        raise GridError(f"{place / key if key else place}: {rest}") from error


def _as_annotated(members: Iterable[Any], value: Any) -> Any:
    """TOML's lists as tuples, and integers as floats where a float is annotated."""
    if isinstance(value, list):
        inner = [entry for member in members if _is_list(member) for entry in _entries(member)]
        return tuple(_as_annotated(inner, entry) for entry in value)
    is_integer = type(value) is int and int not in members
    return float(value) if is_integer and float in members else value


def _rule_of(member: Any) -> Rule:
    if member in _PLAIN:
        return _PLAIN[member]
    if get_origin(member) is Literal:
        allowed = get_args(member)
        return Rule([f'"{value}"' for value in allowed], lambda value: value in allowed)
    if _is_list(member):
        fits = [_rule_of(entry).fits for entry in _members(_entries(member))]
        return Rule(
            ["a list of numbers"],
            lambda value: (
                isinstance(value, list) and all(any(fit(entry) for fit in fits) for entry in value)
            ),
        )
    if _is_part(member):
        names = list(named_kinds(member))
        return Rule([*names, "a table"], lambda value: value in names)
    raise TypeError(f"expected an annotation that a grid has a check for, got {member}.")


def _members(hints: Iterable[Any]) -> tuple[Any, ...]:
    """The annotations, each once, with unions taken apart."""
    found: list[Any] = []
    for hint in hints:
        is_union = get_origin(hint) in (Union, UnionType)
        found += _members(get_args(hint)) if is_union else [hint]
    return tuple(dict.fromkeys(found))


def _is_part(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, eqx.Module)


def _is_list(member: Any) -> bool:
    is_array = isinstance(member, type) and issubclass(member, AbstractArray)
    return is_array or get_origin(member) is tuple


def _entries(member: Any) -> tuple[Any, ...]:
    """The annotations of a list's entries."""
    args = get_args(member) if get_origin(member) is tuple else (float,)
    return tuple(arg for arg in args if arg is not ...)
