"""Names on the command line -> classes: the only place where strings choose them."""

import dataclasses
import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pliant.cli.errors import UserError

METHODS = {
    "pli": "pliant.methods.pli:PLI",
    "pli-accurate": "pliant.methods.pli:PLI.accurate",
    "pli-paper": "pliant.methods.pli:PLI.paper",
    "rejection-abc": "pliant.methods.abc.rejection:RejectionABC",
    "smc-abc": "pliant.methods.abc.smc:SMCABC",
    "pmc-abc": "pliant.methods.abc.pmc:PMCABC",
    "mh-abc": "pliant.methods.abc.mh:MHABC",
    "apt": "pliant.methods.apt:APT",
    "apt-paper": "pliant.methods.apt:APT.paper",
}
DISCREPANCIES = {
    "mmd": "pliant.discrepancies.mmd:MMD",
    "random-feature-mmd": "pliant.discrepancies.random_features:RandomFeatureMMD",
    "wasserstein": "pliant.discrepancies.wasserstein:Wasserstein",
    "sliced-wasserstein": "pliant.discrepancies.sliced_wasserstein:SlicedWasserstein",
    "energy": "pliant.discrepancies.energy:Energy",
    "euclidean": "pliant.discrepancies.euclidean:Euclidean",
    "likelihood-kl": "pliant.discrepancies.likelihood_kl:LikelihoodKL",
    "ratio-kl": "pliant.discrepancies.ratio_kl:RatioKL",
}
FAMILIES = {
    "spline-flow": "pliant.densities.spline_flow:SplineFlow",
    "gaussian": "pliant.densities.gaussian:Gaussian",
    "gaussian-mixture": "pliant.densities.mixture:GaussianMixture",
}
_INSIDE = {"epsilon": "schedule"}  # options of the command that are a part of a method's option


def one_of(option: str, table: Mapping[str, str]) -> Callable[[str | None], str | None]:
    """A check, for typer, that the value of ``option`` is a name in ``table``."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in table:
            raise UserError(
                f"{option}: expected {listed(table)}, got {value!r}.{closest(value, table)}"
            )
        return value

    return check


def as_beta(text: str | None) -> float | str | None:
    """A number, or the word for a bandwidth that is found from the observations."""
    if text is None or text == "calibrated":
        return text
    try:
        return float(text)
    except ValueError:
        raise UserError(f"--beta: expected a number or calibrated, got {text!r}.") from None


def listed(names: Any) -> str:
    """``a, b or c``."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def closest(name: str, names: Any) -> str:
    """`` Did you mean ...?`` if one of ``names`` is near, else nothing."""
    near = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def build_method(
    method: str,
    n_obs: int,
    *,
    discrepancy: str | None,
    family: str | None,
    epsilon: float | None,
    **numbers: float | str | None,
) -> Any:
    """The method with the options that were given; the others keep the method's defaults.

    Raises:
        UserError: If the method does not have an option.
        TypeError, ValueError: If an option is out of range.
    """
    options: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    named = {"discrepancy": discrepancy, "family": family, "epsilon": epsilon, **options}
    _check_options(method, [name for name, value in named.items() if value is not None])
    build = _load(METHODS[method])
    built = build(n_obs, **options) if method == "pli-paper" else build(**options)
    chosen: dict[str, Any] = {}
    if discrepancy is not None:
        chosen["discrepancy"] = _load(DISCREPANCIES[discrepancy])
    if family is not None:
        chosen["family"] = _load(FAMILIES[family])
    changes = {
        name: kind()
        for name, kind in chosen.items()
        if not isinstance(getattr(built, name), kind)  # the method's own is set up for it
    }
    if epsilon is not None:
        changes["schedule"] = dataclasses.replace(built.schedule, epsilon=epsilon)
    return dataclasses.replace(built, **changes)


def option_names(method: str) -> set[str]:
    """The options of the command line, and the others, that the method has."""
    module, _, names = METHODS[method].partition(":")
    kind = _load(f"{module}:{names.partition('.')[0]}")  # without .paper or .accurate
    has = {field.name for field in dataclasses.fields(kind)}
    return has | {option for option, whole in _INSIDE.items() if whole in has}


def _check_options(method: str, given: list[str]) -> None:
    """Raise for an option of the command line that the method does not have."""
    has = option_names(method)
    for name in given:
        if name not in has:
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"{flag}: {method} has no such option; it is one of other methods.")


def _load(path: str) -> Any:
    module, _, names = path.partition(":")
    value: Any = importlib.import_module(module)
    for name in names.split("."):
        value = getattr(value, name)
    return value
