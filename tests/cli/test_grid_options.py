"""What a grid can set of a method; ``test_grid.py`` has the messages of whole files."""

import dataclasses
from pkgutil import resolve_name
from typing import Any, Literal, get_args

import equinox as eqx
import pytest
from jaxtyping import Array, Float

import pliant
from pliant.cli import grid_options
from pliant.cli.choices import METHODS, PARTS, method_class, preset
from pliant.cli.grid_options import (
    build_method_of,
    check_of,
    hints_of,
    named_kinds,
    options_of,
    part_name,
    takes_list,
)
from pliant.cli.grid_values import GridError, Place
from pliant.densities.training import Training
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.partition import PartitionFunction

PLACE = Place("grid.toml") / "methods" / "X"


def built(method: str = "pli", n_obs: int = 10, **options: Any) -> Any:
    """The method with these options, which are checked first."""
    checks = options_of(method)
    for name, value in options.items():
        checks[name](PLACE / name, value)
    return build_method_of(PLACE, method, n_obs, options)


@pytest.mark.parametrize("method", METHODS)
def test_every_field_of_every_method_is_an_option(method):
    fields = {field.name for field in dataclasses.fields(method_class(method))}
    shorthands = {"epsilon"} if "schedule" in fields else set()
    assert set(options_of(method)) == fields | shorthands


@pytest.mark.parametrize(
    "kind",
    [resolve_name(path) for names in PARTS.values() for path in names.values()]
    + [Training, PartitionFunction],
)
def test_every_field_of_every_part_has_a_check(kind):
    fields = {field.name for field in dataclasses.fields(kind)}
    assert set(hints_of(kind)) == fields
    assert all(callable(check_of(hint)) for hint in hints_of(kind).values())


def as_toml(value: Any) -> Any:
    """A value of an option as a grid gives it, with all fields of parts."""
    if isinstance(value, eqx.Module):
        table = {name: as_toml(getattr(value, name)) for name in hints_of(type(value))}
        name = part_name(value)
        return table if name is None else {"name": name, **table}
    if isinstance(value, tuple):
        return list(value)
    return "none" if value is None else value


@pytest.mark.parametrize("method", METHODS)
def test_a_grid_can_say_all_that_a_method_is(method):
    own = preset(method, 10)
    assert (
        built(method, **{name: as_toml(getattr(own, name)) for name in hints_of(type(own))}) == own
    )


@pytest.mark.parametrize(
    ("option", "name"), [(option, name) for option, names in PARTS.items() for name in names]
)
def test_a_grid_can_say_all_that_a_part_is(option, name):
    part = resolve_name(PARTS[option][name])()
    method = "apt" if option == "embedding" else "pli"
    assert getattr(built(method, **{option: as_toml(part)}), option) == part


def test_a_new_field_is_an_option_without_a_change(monkeypatch):
    @dataclasses.dataclass
    class Later:
        depth: int = 2
        selection: Literal["best", "last"] = "best"
        derived: int = dataclasses.field(init=False, default=0)

    monkeypatch.setattr(grid_options, "method_class", lambda method: Later)
    assert set(options_of("later")) == {"depth", "selection"}
    with pytest.raises(GridError, match='selection: expected "best" or "last", got \'first\''):
        options_of("later")["selection"](PLACE / "selection", "first")


RIGHT = [
    (int, 3),
    (float, 3),
    (float, 0.5),
    (bool, True),
    (str, "text"),
    (int | None, "none"),
    (float | Literal["calibrated"] | None, "calibrated"),
    (tuple[float, ...], [1, 2.5]),
    (tuple[float, ...] | Literal["median"], "median"),
    (Float[Array, " d"] | None, [1.0, 2.0]),
    (AbstractKernel, "gaussian"),
    (AbstractKernel, {"name": "gaussian"}),
    (Training, {"steps": 3}),
    (Training | None, "none"),
]
WRONG = [
    (int, 3.0, "an integer"),
    (int, True, "an integer"),
    (int, "none", "an integer"),
    (float, "0.5", "a number"),
    (float, False, "a number"),
    (bool, 1, "true or false"),
    (str, 1, "a string"),
    (float | Literal["calibrated"] | None, "x", 'a number, "calibrated" or "none"'),
    (tuple[float, ...], ["1"], "a list of numbers"),
    (tuple[float, ...], 1.0, "a list of numbers"),
    (Float[Array, " d"] | None, "all", 'a list of numbers or "none"'),
    (AbstractKernel, "gauss", "uniform, exponential, gaussian, epanechnikov or a table"),
    (AbstractKernel, "none", "uniform, exponential, gaussian, epanechnikov or a table"),
    (Training, "fast", "a table"),
    (int, {"steps": 3}, "an integer"),
]


@pytest.mark.parametrize(("hint", "value"), RIGHT)
def test_a_value_of_the_annotated_type_is_kept(hint, value):
    assert check_of(hint)(PLACE, value) == value


@pytest.mark.parametrize(("hint", "value", "expected"), WRONG)
def test_another_type_is_refused_in_words(hint, value, expected):
    with pytest.raises(GridError) as caught:
        check_of(hint)(PLACE, value)
    assert str(caught.value).startswith(f"{PLACE}: expected {expected}, got {value!r}.")


def test_an_annotation_without_a_check_is_no_silent_gap():
    with pytest.raises(TypeError, match="expected an annotation that a grid has a check for"):
        check_of(complex)


def test_a_part_without_a_name_goes_by_its_class():
    with pytest.raises(GridError, match=r"X\.name: .*steps, rate.* \(Training\), got 'name'"):
        check_of(Training)(PLACE, {"name": "adam"})


def test_only_parts_of_the_annotated_kind_have_names():
    pmc, pli = (hints_of(method_class(name))["discrepancy"] for name in ("pmc-abc", "pli"))
    of_pli, none = get_args(pli)
    assert set(named_kinds(of_pli)) - set(named_kinds(pmc)) == {"likelihood-kl", "ratio-kl"}
    assert none is type(None)
    assert named_kinds(Training) == {}
    assert part_name(pliant.Wasserstein()) == "wasserstein"
    assert part_name(Training()) is None
    assert part_name(None) is None


def test_a_list_is_one_value_of_a_tuple(monkeypatch):
    assert not takes_list("pli", "rounds")
    assert not takes_list("pli", "epsilon")
    monkeypatch.setattr(grid_options, "method_class", lambda method: pliant.MMD)
    assert takes_list("later", "lengthscales")
    assert takes_list("later", "scale")
    assert not takes_list("later", "most_partners")


def test_a_name_of_the_same_kind_keeps_the_settings_of_the_preset():
    assert built("pli-mmd", discrepancy="mmd") == pliant.PLI(discrepancy=pliant.MMD())
    assert built("pmc-abc", discrepancy="mmd") == pliant.PMCABC()
    assert built("pli-paper", family={"name": "spline-flow"}) == pliant.PLI.paper(10)
    other = built("pli-paper", family={"name": "gaussian"})
    assert other == pliant.PLI.paper(10, family=pliant.Gaussian())


def test_a_table_changes_fields_of_the_part_that_is_there():
    own: Any = pliant.PLI.paper(10)
    method = built("pli-paper", family={"training": {"steps": 7}, "bins": 4})
    training = dataclasses.replace(own.family.training, steps=7)
    family = dataclasses.replace(own.family, bins=4, training=training)
    assert method == dataclasses.replace(own, family=family)


def test_none_numbers_and_lists_become_those_of_python():
    mmd = {"scale": [1, 2], "lengthscales": [3]}
    method = built("pli-mmd", beta=1, noise_limit="none", discrepancy=mmd)
    assert built("pli-mmd", discrepancy="none") == pliant.PLI()
    assert (type(method.beta), method.noise_limit) == (float, None)
    assert method.discrepancy.lengthscales == (3.0,)
    assert method.discrepancy.scale.tolist() == [1.0, 2.0]
    assert built("pmc-abc", perturbation="none").perturbation is None
    assert built("pmc-abc", perturbation={"components": 2}).perturbation.starts == 1
    assert built(partition={"n_sets": 7}).partition == PartitionFunction(n_sets=7)
    assert built("apt", embedding="deep-set", window=3).embedding == pliant.DeepSet()


def test_a_part_that_the_preset_lacks_needs_its_name():
    ratio = {"name": "ratio-kl", "embedding": {"width": 8}}
    with pytest.raises(GridError, match=r"X\.discrepancy\.embedding: the key 'name' is missing: c"):
        built(discrepancy=ratio)
    with pytest.raises(GridError, match=r"X\.discrepancy: the key 'name' is missing: mmd, "):
        built(discrepancy={"most_partners": 7})
    ratio["embedding"]["name"] = "deep-set"
    assert built(discrepancy=ratio).discrepancy.embedding == pliant.DeepSet(width=8)


def test_a_field_of_another_kind_is_refused_when_the_kind_is_known():
    with pytest.raises(GridError, match=r"X\.discrepancy\.most_partners: .* \(euclidean\), got"):
        built("pli-paper", n_obs=1, discrepancy={"most_partners": "none"})
    assert built("pli-paper", n_obs=2, discrepancy={"most_partners": "none"}).n_draws == 2


def test_what_a_class_refuses_is_said_at_its_key():
    with pytest.raises(GridError, match=r"^grid\.toml: methods\.X\.family\.training\.rate: exp"):
        built(family={"training": {"rate": -1.0}})
    with pytest.raises(GridError, match=r"^grid\.toml: methods\.X\.beta: \"calibrated\" resampl"):
        built(discrepancy="wasserstein", beta="calibrated")


def test_options_are_checked_together():
    """The preset's own discrepancy would allow neither."""
    assert built("pli", reuse=2, discrepancy="mmd").reuse == 2


def test_the_preset_of_pmc_abc_takes_options():
    method = built("pmc-abc-paper", min_acceptance=1e-3)
    assert method == pliant.PMCABC.paper(min_acceptance=1e-3)
