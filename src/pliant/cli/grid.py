"""Read a grid file: TOML becomes runs with their methods, all checked before the first one.

```toml
samples = 1000                        # posterior samples for the metrics
classify = false                      # whether to compute C2ST, which is slow

[methods.PLI-MMD]                     # a label, and the method with its options
method = "pli"
n_particles = 2000                    # any field of the method's class
n_draws = "none"                      # None
discrepancy = "mmd"                   # a part by its name, or by a table of its fields:
family = { layers = 8, training = { steps = 5000 } }            # of the method's own family
schedule = { name = "effective-sample-size", fraction = 0.8 }   # of another schedule

[[methods.PLI-MMD.when]]              # other options for some tasks or numbers of observations
task = "furuta"
n_particles = 500

[[experiment]]                        # one run per combination of the lists
name = "accuracy"
tasks = ["slcp", "furuta"]
n_obs = [2, 100]
seeds = [0, 1]
methods = ["PLI-MMD"]
options = { reuse = [0, 2] }          # optional; override those of the methods
snapshots = 500                       # optional; posterior samples to keep per round
```

Two options have shorthands: ``epsilon = 0.5`` for ``schedule = { epsilon = 0.5 }``, and a number of
reference sets for ``partition``, where 0 disables the partition function.
"""

import itertools
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from pliant.bench.folders import GRID
from pliant.bench.plan import Grid, Run
from pliant.cli.choices import METHODS, closest, preset
from pliant.cli.errors import UserError
from pliant.cli.grid_layers import Layer, Origin, merged, short, short_value
from pliant.cli.grid_options import build_method_of, options_of, takes_list
from pliant.cli.grid_values import (
    GridError,
    Place,
    boolean,
    each,
    expect,
    integer,
    name_of,
    table,
)
from pliant.methods.base import AbstractMethod
from pliant.tasks import names as task_names

_GRID = {
    "samples": integer(10),
    "classify": boolean,
    "methods": table,
    "experiment": expect(
        "one table [[experiment]] or more", lambda value: isinstance(value, list) and value != []
    ),
}
_SAMPLES = 10_000  # as the paper


class _Method(NamedTuple):
    """A method of the grid: its name, its options, and the exceptions from them."""

    name: str
    own: Layer
    exceptions: list[tuple[dict[str, Any], Layer]]
    """Each with the tasks and numbers of observations that it is for."""

    def layers(self, task: str, n_obs: int) -> list[Layer]:
        """The tables of options for a task and a number of observations."""
        fitting = (
            layer
            for where, layer in self.exceptions
            if task in where.get("task", [task]) and n_obs in where.get("n_obs", [n_obs])
        )
        return [self.own, *fitting]


def shipped() -> tuple[str, ...]:
    """The names of the grids that come with Pliant."""
    files = resources.files("pliant.bench").joinpath("grids").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files))


def read_grid(source: str) -> Grid:
    """Read and check a grid: the path of a TOML file, or the name of a shipped grid."""
    path = Path(source)
    if not path.is_file() and source in shipped():
        text = resources.files("pliant.bench").joinpath("grids", f"{source}.toml").read_text()
        return parse_grid(text, f"{source}.toml")
    if not path.is_file():
        raise GridError(
            f"{source}: there is no such file, and no grid of that name. Pliant's own "
            f"are {', '.join(shipped())}.{closest(source, shipped())}"
        )
    return parse_grid(path.read_text(), source)


def read_grid_of(out: Path) -> Grid:
    """The grid that was last run in a folder."""
    path = out / GRID
    if not path.is_file():
        raise UserError(f"{out} holds no grid (there is no {GRID} in it): see pliant bench run.")
    return parse_grid(path.read_text(), str(path))


def parse_grid(text: str, name: str) -> Grid:
    """The runs of a grid's text; messages call it ``name``.

    Raises:
        GridError: At the first mistake; the message names the file, the key and the expected value.
    """
    root = Place(name)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{name}: not a TOML file: {error}.") from error
    data = table(root, data, _GRID, needed=("methods", "experiment"))
    methods = {
        label: _read_method(root / "methods" / label, label, entry)
        for label, entry in data["methods"].items()
    }
    common = {"samples": data.get("samples", _SAMPLES), "classify": data.get("classify", False)}
    built: dict[str, AbstractMethod] = {}
    runs = tuple(
        Run(**settings, **common, **_options_and_method(settings, methods, layer, built))
        for index, experiment in enumerate(data["experiment"], start=1)
        for settings, layer in _expand(root / f"experiment {index}", experiment, methods)
    )
    for run_name, count in Counter(run.name for run in runs).items():
        if count > 1:
            raise GridError(f"{root}: experiment: {run_name} is there twice.")
    return Grid(name, text, runs)


def _read_method(place: Place, label: str, value: Any) -> _Method:
    """A method with its options, and in ``when`` the exceptions from them."""
    method = table(place, value, needed=("method",))["method"]
    if not label.replace("-", "").replace("_", "").isalnum():
        raise place.error("a label of letters, digits, - and _", label)
    name_of(METHODS)(place / "method", method)
    tables = expect("tables [[...when]]", lambda value: isinstance(value, list))
    options, of = options_of(method), f" ({method})"
    table(place, value, {"method": name_of(METHODS), "when": tables, **options}, of=of)
    where = {"task": each(name_of(task_names())), "n_obs": each(integer(1))}
    exceptions = []
    for index, exception in enumerate(value.get("when", []), start=1):
        inner = place / f"when {index}"
        entry = table(inner, exception, {**where, **options}, of=of)
        if not where.keys() & entry.keys():
            raise inner.error("task, n_obs, or both", sorted(entry))
        layer = Layer(inner, _without(entry, where))
        exceptions.append(({key: entry[key] for key in where if key in entry}, layer))
    return _Method(method, Layer(place, _without(value, ("method", "when"))), exceptions)


def _expand(
    place: Place, value: Any, methods: Mapping[str, _Method]
) -> Iterator[tuple[dict[str, Any], Layer]]:
    """The settings and the own options of an experiment's runs: all combinations of its lists."""
    needed = {
        "name": expect("a word of letters, digits and _", _is_word),
        "tasks": each(name_of(task_names())),
        "n_obs": each(integer(1)),
        "seeds": each(integer(0)),
        "methods": each(name_of(methods)),
    }
    checks = {**needed, "options": table, "snapshots": integer(0)}
    entry = table(place, value, checks, needed=needed)
    given, inner = entry.get("options", {}), place / "options"
    names = list(dict.fromkeys(methods[label].name for label in entry["methods"]))
    axes = {key: values for key, values in given.items() if _is_varied(names, key, values)}
    for name in names:
        options = options_of(name)
        options |= {key: each(options[key]) for key in axes if key in options}
        table(inner, given, options, of=f" ({name})")
    extras = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    lists = (entry[key] for key in ("tasks", "methods", "n_obs", "seeds"))
    for task, label, n_obs, seed, extra in itertools.product(*lists, extras):
        settings = {
            "experiment": entry["name"],
            "task": task,
            "method": label,
            "n_obs": n_obs,
            "seed": seed,
            "varied": {key: short_value(key, value) for key, value in extra.items()},
            "snapshots": entry.get("snapshots", 0),
        }
        yield settings, Layer(inner, {**given, **extra})


def _is_varied(methods: Collection[str], option: str, value: Any) -> bool:
    """Whether an experiment's option is a list of values; one value may be a list itself."""
    if not isinstance(value, list) or not any(takes_list(name, option) for name in methods):
        return isinstance(value, list)
    return all(isinstance(entry, list) for entry in value)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _without(options: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in keys}


def _options_and_method(
    settings: Mapping[str, Any],
    methods: Mapping[str, _Method],
    layer: Layer,
    built: dict[str, AbstractMethod],
) -> dict[str, Any]:
    """The options of a run, and the method that they describe.

    Runs with equal options share their method, which is kept in ``built``.
    """
    method, n_obs = methods[settings["method"]], settings["n_obs"]
    layers = [*method.layers(settings["task"], n_obs), layer]
    options = merged(layers, _unchanged(method.name, n_obs))
    key = repr((method.name, options, n_obs))
    if key not in built:
        built[key] = build_method_of(Origin(layers), method.name, n_obs, options)
    return {"options": {"method": method.name, **short(options)}, "built_method": built[key]}


@cache
def _unchanged(method: str, n_obs: int) -> AbstractMethod:
    """The method without any options."""
    return preset(method, n_obs)
