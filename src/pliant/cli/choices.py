"""Names on the command line and in grid files, and the methods that they build."""

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from pliant.cli.errors import UserError

METHODS = {
    "pli": "pliant.methods.pli:PLI",
    "pli-mmd": "pliant.methods.pli:PLI",
    "pli-wasserstein": "pliant.methods.pli:PLI",
    "pli-paper": "pliant.methods.pli:PLI.paper",
    "rejection-abc": "pliant.methods.abc.rejection:RejectionABC",
    "smc-abc": "pliant.methods.abc.smc:SMCABC",
    "pmc-abc": "pliant.methods.abc.pmc:PMCABC",
    "pmc-abc-paper": "pliant.methods.abc.pmc:PMCABC.paper",
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
SCHEDULES = {
    "trust-region": "pliant.weighting.schedules.trust_region:TrustRegion",
    "effective-sample-size": "pliant.weighting.schedules.ess:EffectiveSampleSize",
    "quantile": "pliant.weighting.schedules.quantile:Quantile",
    "fixed": "pliant.weighting.schedules.fixed:Fixed",
}
KERNELS = {
    "uniform": "pliant.weighting.kernels:UniformKernel",
    "exponential": "pliant.weighting.kernels:ExponentialKernel",
    "gaussian": "pliant.weighting.kernels:GaussianKernel",
    "epanechnikov": "pliant.weighting.kernels:EpanechnikovKernel",
}
EMBEDDINGS = {
    "concatenation": "pliant.densities.embeddings:Concatenation",
    "deep-set": "pliant.densities.embeddings:DeepSet",
}
PARTS = {
    "discrepancy": DISCREPANCIES,
    "family": FAMILIES,
    "schedule": SCHEDULES,
    "kernel": KERNELS,
    "embedding": EMBEDDINGS,
}
_WITH = {"pli-mmd": "mmd", "pli-wasserstein": "wasserstein"}  # methods with a discrepancy
_FORMER = {"pli-accurate": "pli"}  # names that a user may still type
_INSIDE = {"epsilon": "schedule"}  # options of the command that belong to an option of the method


def one_of(option: str, table: Mapping[str, str]) -> Callable[[str | None], str | None]:
    """A callback for typer that checks that the value of ``option`` is a name in ``table``."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in table:
            hint = closest(value, table)
            raise UserError(f"{option}: expected {listed(table)}, got {value!r}.{hint}")
        return value

    return check


def as_beta(text: str | None) -> float | str | None:
    """A number, or ``"calibrated"`` for a bandwidth found from the observations."""
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
    """`` Did you mean ...?`` with the closest of ``names``; empty if none is close."""
    if _FORMER.get(name) in list(names):
        return f" {name!r} is now {_FORMER[name]!r}."
    near = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def build_method(method: str, n_obs: int, **options: Any) -> Any:
    """The method with the given options; an option of None keeps the method's default.

    Raises:
        UserError: If the method lacks an option.
        TypeError, ValueError: If an option is out of range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in option_names(method):
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"{flag}: {method} has no such option; other methods do.")
    own = preset(method, n_obs)
    for name in PARTS.keys() & given.keys():
        given[name] = same_or_new(getattr(own, name), resolve_name(PARTS[name][given[name]]))
    epsilon = given.pop("epsilon", None)
    if epsilon is not None:
        given["schedule"] = dataclasses.replace(own.schedule, epsilon=epsilon)
    return preset(method, n_obs, **given)


def preset(method: str, n_obs: int, **options: Any) -> Any:
    """The method of that name for ``n_obs`` observations, with options in place of its own."""
    build = resolve_name(METHODS[method])
    if method in _WITH:
        own = resolve_name(DISCREPANCIES[_WITH[method]])()
        return build(**{"discrepancy": own, **options})
    return build(n_obs, **options) if method == "pli-paper" else build(**options)


def same_or_new(part: Any, kind: type) -> Any:
    """The part if it is of that kind, because it may have settings of its own, or a new one."""
    return part if isinstance(part, kind) else kind()


def method_class(method: str) -> type:
    """The class of a method, whose fields are its options."""
    module, _, names = METHODS[method].partition(":")
    return resolve_name(f"{module}:{names.partition('.')[0]}")  # without .paper


def option_names(method: str) -> set[str]:
    """The fields of the method, and the command's options that belong to one of them."""
    has = {field.name for field in dataclasses.fields(method_class(method))}
    return has | {option for option, whole in _INSIDE.items() if whole in has}
