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
from pliant.cli.choices import METHODS, build_method, closest, option_names
from pliant.cli.errors import UserError
from pliant.cli.grid_values import (
    GridError,
    Place,
    as_list,
    boolean,
    integer,
    integers,
    listed,
    name_of,
    names,
    option,
    table,
)
from pliant.methods.base import AbstractMethod
from pliant.tasks import names as task_names
from pliant.weighting.partition import PartitionFunction

_GRID_KEYS = ("samples", "classify", "methods", "experiment")
_EXPERIMENT_KEYS = ("name", "tasks", "n_obs", "seeds", "methods", "options", "snapshots")
_SAMPLES = 10_000  # as the paper


def shipped() -> tuple[str, ...]:
    """The names of the grids that come with Pliant."""
    files = resources.files("pliant.bench").joinpath("grids").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files))


def read_grid(source: str) -> Grid:
    """Read and check a grid.

    Args:
        source: The path of a TOML file, or the name of a shipped grid.

    Raises:
        GridError: If there is no such grid, or at the first mistake in it.
    """
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
    """The grid that was last run in a folder.

    Raises:
        UserError: If there is none.
    """
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
    table(root, data, _GRID_KEYS, needed=("methods", "experiment"))
    samples = integer(root / "samples", data.get("samples", _SAMPLES), at_least=10)
    classify = boolean(root / "classify", data.get("classify", False))
    methods = table(root / "methods", data["methods"])
    for label in methods:
        _check_method(root / "methods" / label, label, methods[label])
    experiments = data["experiment"]
    if not isinstance(experiments, list) or not experiments:
        raise (root / "experiment").error("one table [[experiment]] or more", experiments)
    settings = [
        run
        for index, experiment in enumerate(experiments, start=1)
        for run in _expand(root / f"experiment {index}", experiment, methods)
    ]
    built = _build_methods(root, settings, methods)
    runs = tuple(
        Run(**run, samples=samples, classify=classify, built_method=method)
        for run, method in zip(settings, built, strict=True)
    )
    for run_name, count in Counter(run.name for run in runs).items():
        if count > 1:
            raise GridError(f"{root}: experiment: {run_name} is there twice.")
    return Grid(name, text, runs)


def _check_method(place: Place, label: str, entry: Any) -> None:
    table(place, entry, needed=("method",))
    if not label.replace("-", "").replace("_", "").isalnum():
        raise place.error("a label of letters, digits, - and _", label)
    name_of(place / "method", entry["method"], METHODS)
    _check_options(place, entry, entry["method"], but=("method", "when"))
    exceptions = entry.get("when", [])
    if not isinstance(exceptions, list):
        raise (place / "when").error("tables [[...when]]", exceptions)
    for index, exception in enumerate(exceptions, start=1):
        inner = place / f"when {index}"
        table(inner, exception)
        _check_options(inner, exception, entry["method"], but=("task", "n_obs"))
        if not {"task", "n_obs"} & set(exception):
            raise inner.error("task, n_obs, or both", sorted(exception))
        names(inner / "task", exception.get("task", []), task_names())
        integers(inner / "n_obs", exception.get("n_obs", []), at_least=1)


def _check_options(
    place: Place, entry: Mapping[str, Any], method: str, *, but: tuple[str, ...] = ()
) -> None:
    allowed = option_names(method)
    for key, value in entry.items():
        if key not in but:
            option(place / key, value, allowed, method, also=but)


def _expand(place: Place, entry: Any, methods: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of an experiment's runs: all combinations of its lists."""
    table(place, entry, _EXPERIMENT_KEYS, needed=_EXPERIMENT_KEYS[:5])
    name = entry["name"]
    if not isinstance(name, str) or not name.isidentifier():
        raise (place / "name").error("a word of letters, digits and _", name)
    tasks = names(place / "tasks", entry["tasks"], task_names())
    labels = names(place / "methods", entry["methods"], methods)
    n_obs = integers(place / "n_obs", entry["n_obs"], at_least=1)
    seeds = integers(place / "seeds", entry["seeds"], at_least=0)
    snapshots = integer(place / "snapshots", entry.get("snapshots", 0), at_least=0)
    given = table(place / "options", entry.get("options", {}))
    choices = {key: listed(place / "options" / key, value) for key, value in given.items()}
    for label, (key, values) in itertools.product(labels, choices.items()):
        for value in values:
            _check_options(place / "options", {key: value}, methods[label]["method"])
    axes = {key: value for key, value in given.items() if isinstance(value, list)}
    fixed = {key: value for key, value in given.items() if key not in axes}
    extras = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    for task, label, n, seed in itertools.product(tasks, labels, n_obs, seeds):
        for extra in extras:
            yield {
                "experiment": name,
                "task": task,
                "method": label,
                "n_obs": n,
                "seed": seed,
                "varied": extra,
                "options": {**_options(methods[label], task, n), **fixed, **extra},
                "snapshots": snapshots,
            }


def _options(entry: Mapping[str, Any], task: str, n_obs: int) -> dict[str, Any]:
    """The method's options for a task and a number of observations; the last exception wins."""
    options = {key: value for key, value in entry.items() if key != "when"}
    for exception in entry.get("when", []):
        tasks = exception.get("task", task)
        numbers = exception.get("n_obs", n_obs)
        if task in as_list(tasks) and n_obs in as_list(numbers):
            options |= {k: v for k, v in exception.items() if k not in ("task", "n_obs")}
    return options


def _build_methods(
    root: Place, runs: list[dict[str, Any]], methods: Mapping[str, Any]
) -> list[AbstractMethod]:
    """The method of each run; runs with equal options share one.

    Raises:
        GridError: If an option is out of range.
    """
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
    choices: dict[str, Any] = {"discrepancy": None, "family": None, "epsilon": None, **options}
    n_sets = choices.pop("partition", 0)
    built: Any = build_method(choices.pop("method"), n_obs, **choices)
    partition = {"partition": PartitionFunction(n_sets=n_sets)} if n_sets else {}
    return dataclasses.replace(built, **partition)
