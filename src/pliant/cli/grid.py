"""Read a grid file: TOML becomes runs with their methods, all checked before the first one.

```toml
samples = 1000                        # posterior samples for the metrics
classify = false                      # whether to compute C2ST, which is slow

[methods.PLI-MMD]                     # a label, and the method with its options
method = "pli"
n_particles = 2000

[[methods.PLI-MMD.when]]              # other options for some tasks or numbers of observations
task = "furuta"
n_particles = 500

[[experiment]]                        # one run per combination of the lists
name = "accuracy"
tasks = ["slcp", "furuta"]
n_obs = [2, 100]
seeds = [0, 1]
methods = ["PLI-MMD"]
options = { epsilon = [0.5, 1.0] }    # optional; override those of the methods
snapshots = 500                       # optional; posterior samples to keep per round
```
"""

import dataclasses
import itertools
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pliant.bench.folders import GRID
from pliant.bench.plan import Grid, Run
from pliant.cli.choices import METHODS, build_method, closest
from pliant.cli.errors import UserError
from pliant.cli.grid_values import (
    GridError,
    Place,
    boolean,
    each,
    expect,
    integer,
    name_of,
    options_of,
    table,
)
from pliant.methods.base import AbstractMethod
from pliant.tasks import names as task_names
from pliant.weighting.partition import PartitionFunction

_GRID = {
    "samples": integer(10),
    "classify": boolean,
    "methods": table,
    "experiment": expect(
        "one table [[experiment]] or more", lambda value: isinstance(value, list) and value != []
    ),
}
_SAMPLES = 10_000  # as the paper


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
    settings = [
        run
        for index, experiment in enumerate(data["experiment"], start=1)
        for run in _expand(root / f"experiment {index}", experiment, methods)
    ]
    built = _build_methods(root, settings, methods)
    common = {"samples": data.get("samples", _SAMPLES), "classify": data.get("classify", False)}
    runs = tuple(
        Run(**run, **common, built_method=method)
        for run, method in zip(settings, built, strict=True)
    )
    for run_name, count in Counter(run.name for run in runs).items():
        if count > 1:
            raise GridError(f"{root}: experiment: {run_name} is there twice.")
    return Grid(name, text, runs)


def _read_method(place: Place, label: str, value: Any) -> dict[str, Any]:
    """A method with its options, and in ``when`` the exceptions from them."""
    method = table(place, value, needed=("method",))["method"]
    if not label.replace("-", "").replace("_", "").isalnum():
        raise place.error("a label of letters, digits, - and _", label)
    name_of(METHODS)(place / "method", method)
    tables = expect("tables [[...when]]", lambda value: isinstance(value, list))
    options, of = options_of(method), f" ({method})"
    entry = table(place, value, {"method": name_of(METHODS), "when": tables, **options}, of=of)
    exceptions = []
    for index, exception in enumerate(entry.get("when", []), start=1):
        inner = place / f"when {index}"
        where = {"task": each(name_of(task_names())), "n_obs": each(integer(1))}
        exceptions.append(table(inner, exception, {**where, **options}, of=of))
        if not set(where) & set(exception):
            raise inner.error("task, n_obs, or both", sorted(exception))
    return {**entry, "when": exceptions}


def _expand(place: Place, value: Any, methods: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of an experiment's runs: all combinations of its lists."""
    needed = {
        "name": expect("a word of letters, digits and _", _is_word),
        "tasks": each(name_of(task_names())),
        "n_obs": each(integer(1)),
        "seeds": each(integer(0)),
        "methods": each(name_of(methods)),
    }
    checks = {**needed, "options": table, "snapshots": integer(0)}
    entry = table(place, value, checks, needed=needed)
    given = entry.get("options", {})
    for method in (methods[label]["method"] for label in entry["methods"]):
        options = {name: each(check) for name, check in options_of(method).items()}
        table(place / "options", given, options, of=f" ({method})")
    axes = {key: value for key, value in given.items() if isinstance(value, list)}
    fixed = {key: value for key, value in given.items() if key not in axes}
    extras = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    lists = (entry[key] for key in ("tasks", "methods", "n_obs", "seeds"))
    for task, label, n_obs, seed, extra in itertools.product(*lists, extras):
        yield {
            "experiment": entry["name"],
            "task": task,
            "method": label,
            "n_obs": n_obs,
            "seed": seed,
            "varied": extra,
            "options": {**_options(methods[label], task, n_obs), **fixed, **extra},
            "snapshots": entry.get("snapshots", 0),
        }


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _options(entry: Mapping[str, Any], task: str, n_obs: int) -> dict[str, Any]:
    """The method's options for a task and a number of observations; the last exception wins."""
    options = {key: value for key, value in entry.items() if key != "when"}
    for exception in entry["when"]:
        if task in exception.get("task", [task]) and n_obs in exception.get("n_obs", [n_obs]):
            options |= {k: v for k, v in exception.items() if k not in ("task", "n_obs")}
    return options


def _build_methods(
    root: Place, runs: list[dict[str, Any]], methods: Mapping[str, Any]
) -> list[AbstractMethod]:
    """The method of each run; runs with equal options share one."""
    built: dict[str, AbstractMethod] = {}
    keys = [repr((run["options"], run["n_obs"])) for run in runs]
    for key, run in zip(keys, runs, strict=True):
        if key in built:
            continue
        try:
            built[key] = _build(run["options"], run["n_obs"])
        except (TypeError, ValueError, UserError) as error:
            option, _, rest = str(error).splitlines()[0].partition(":")
            own = _options(methods[run["method"]], run["task"], run["n_obs"])
            place = root / "methods" / run["method"]
            if own.get(option) != run["options"].get(option):
                place = root / f"experiment {run['experiment']}" / "options"
            raise GridError(f"{place / option}:{rest}" if rest else f"{place}: {option}") from error
    return [built[key] for key in keys]


def _build(options: Mapping[str, Any], n_obs: int) -> AbstractMethod:
    choices = {key: value for key, value in options.items() if key != "partition"}
    built = build_method(choices.pop("method"), n_obs, **choices)
    n_sets = options.get("partition", 0)
    partition = {"partition": PartitionFunction(n_sets=n_sets)} if n_sets else {}
    return dataclasses.replace(built, **partition)
