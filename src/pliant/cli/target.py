"""What to infer: a built-in task, or a problem in a user's Python file."""

import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.cli.choices import closest
from pliant.cli.errors import UserError
from pliant.cli.trust import changed_neighbour, digest, is_own, neighbours, signature
from pliant.run.folder import CONFIG, check_fields, check_format

if TYPE_CHECKING:
    from pliant.problem.problem import Problem
    from pliant.tasks.base import AbstractTask

_DEFAULT_N_OBS = 100


@dataclass(frozen=True)
class Target:
    """A problem and what is known about its solution."""

    text: str
    """As written on the command line."""
    problem: "Problem"
    truth: Any = None
    reference: Callable[[], Any] | None = None
    """Draws samples of the exact posterior."""
    file: dict[str, Any] | None = None
    """Path and SHA-256 of a user's file and of its neighbours, with the user's signature."""
    task: "AbstractTask | None" = None
    """The task, if it is a built-in one."""


def is_file(text: str) -> bool:
    """Whether the target is a problem in a file: ``FILE.py:NAME``."""
    return text.endswith(".py") or ".py:" in text


def folder_name(text: str, seed: int) -> str:
    """``TASK-SEED``, or ``FILE-NAME-SEED``."""
    if not is_file(text):
        return f"{text}-{seed}"
    path, _, name = text.rpartition(":")
    return f"{Path(path).stem}-{name}-{seed}"


def read_target(text: str, n_obs: int | None, seed: int) -> Target:
    """Load the task or the file."""
    if not is_file(text):
        return task_target(text, _DEFAULT_N_OBS if n_obs is None else n_obs, seed)
    if n_obs is not None:
        raise UserError("--n-obs is for tasks only: a problem in a file has its own observations.")
    path, name = _split(text)
    return _read_file(text, path, name, _content(path))


def read_config(folder: Path) -> dict[str, Any]:
    """The record of a ``pliant run``: its target, options and seed."""
    from pliant._files import read_json

    if not (folder / CONFIG).is_file():
        raise UserError(
            f"{folder} does not name its problem (there is no {CONFIG} in it). Use Python to "
            "score a result that was saved from Python (pliant.metrics.evaluate) or to resume it "
            "(pliant.resume)."
        )
    config = read_json(folder / CONFIG)
    check_format(folder / CONFIG, config)
    check_fields(folder / CONFIG, config, {"target": str, "n_obs": int, "seed": int})
    return config


def read_record(folder: Path, problem: str | None) -> dict[str, Any]:
    """The record of a run. One that was made from Python has none: ``problem`` takes its place."""
    if (folder / CONFIG).is_file():
        return read_config(folder)
    if problem is None:
        raise UserError(
            f"{folder} does not name its problem, because it was made from Python. Add --problem "
            "FILE.py:NAME."
        )
    if not is_file(problem):
        raise UserError(f"--problem: expected FILE.py:NAME, got {problem!r}.")
    return {"target": problem, "seed": 0}  # a file has its own observations, whatever the seed


def read_target_again(config: dict[str, Any], problem: str | None = None) -> Target:
    """The target of a recorded run; the working directory does not matter.

    A run folder may come from a stranger, so a file is executed only in two cases. Either the user
    names it (``problem``, as ``FILE.py:NAME``), whatever it holds; or it is the recorded one, with
    the recorded digests of itself and of its neighbours, and the record is signed by this user (see
    ``trust``). All of this is checked before anything in the file is executed.
    """
    text = config["target"]
    if not is_file(text):
        if problem is not None:
            raise UserError(f"--problem: the run is one of the task {text}, not of a file.")
        return task_target(text, config["n_obs"], config["seed"])
    if problem is not None:
        if not is_file(problem):
            raise UserError(f"--problem: expected FILE.py:NAME, got {problem!r}.")
        return read_target(problem, None, config["seed"])
    file, name = config.get("file"), text.rpartition(":")[2]
    if not isinstance(file, dict) or not {"path", "sha256"} <= set(file):
        raise UserError(f"{CONFIG} is damaged, or not written by Pliant: it names no file.")
    path, sha256, modules = str(file["path"]), str(file["sha256"]), file.get("modules", {})
    remedy = f"To use it, add --problem {path}:{name}"
    if not isinstance(modules, dict) or not is_own(
        path, sha256, name, modules, str(file.get("signature", ""))
    ):
        raise UserError(
            f"{path} is not executed, because no run of yours recorded it: the folder comes from "
            f"another user or machine, or {CONFIG} was edited. If you trust the file: {remedy}"
        )
    content = _content(Path(path))
    if digest(content) != sha256:
        raise UserError(f"{path} has changed since the run and is not executed. {remedy}")
    if (changed := changed_neighbour(Path(path), modules)) is not None:
        raise UserError(
            f"{changed}, a module that {path} imports, has changed since the run, so neither is "
            f"executed. {remedy}"
        )
    return _read_file(f"{path}:{name}", Path(path), name, content)


def has_changed(target: Target, config: dict[str, Any]) -> bool:
    """Whether the user's file, or a neighbour that it imports, has changed since the run."""
    if "file" not in config:  # of a run from Python, whose file nobody recorded
        return False
    recorded, now = config["file"] or {}, target.file
    return now is not None and any(
        now.get(part) != recorded.get(part) for part in ("sha256", "modules")
    )


def _split(text: str) -> tuple[Path, str]:
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not name:
        raise UserError(f"{text}: the name of the problem is missing. Write FILE.py:NAME.")
    return Path(path), name


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    return path.read_bytes()


def task_target(name: str, n_obs: int, seed: int) -> Target:
    """A built-in task with observations that it simulates."""
    from pliant import tasks

    if name not in tasks.names():
        raise UserError(
            f"There is no task {name!r}.{closest(name.replace('-', '_'), tasks.names())} The tasks "
            f"are {', '.join(tasks.names())}; a problem of your own is FILE.py:NAME."
        )
    task = tasks.get(name)
    return Target(
        text=name,
        problem=task.problem(n_obs=n_obs, seed=seed),
        truth=task.truth,
        reference=(lambda: task.reference(n_obs=n_obs, seed=seed)) if task.has_reference else None,
        task=task,
    )


def _read_file(text: str, path: Path, name: str, content: bytes) -> Target:
    from pliant.problem.problem import Problem

    module = _execute(path, content)
    if not hasattr(module, name):
        problems = [key for key, value in vars(module).items() if isinstance(value, Problem)]
        found = f" The problems in it are {', '.join(problems)}." if problems else ""
        raise UserError(f"{path}: there is no {name!r} in it.{closest(name, problems)}{found}")
    value = getattr(module, name)
    if not isinstance(value, Problem) and callable(value):
        value = _guarded(path, value)
    if not isinstance(value, Problem):
        raise UserError(
            f"{path}: expected {name} to be a pliant.Problem, or a function without arguments that "
            f"returns one, got {type(value).__name__}."
        )
    where, sha256, modules = str(path.resolve()), digest(content), neighbours(path)
    record: dict[str, Any] = {"path": where, "sha256": sha256}
    if modules:
        record["modules"] = modules
    record["signature"] = signature(where, sha256, name, modules)
    return Target(text, value, file=record)


def _execute(path: Path, content: bytes) -> Any:
    """Execute the file as a module that can import its neighbours, like ``python FILE.py``.

    ``content`` is executed, not the file as it may be by now, nor compiled code from a cache.
    """
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import cloudpickle

    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise UserError(f"{path}: not a Python file.")
    module = importlib.util.module_from_spec(spec)
    shadowed = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # dataclasses and pickle look up their module by name
    cloudpickle.register_pickle_by_value(module)  # workers need not find the file
    compiled = partial(spec.loader.source_to_code, content, str(path))
    try:
        _guarded(path, lambda: exec(compiled(), vars(module)))
    except UserError:
        del sys.modules[path.stem]
        if shadowed is not None:
            sys.modules[path.stem] = shadowed
        raise
    return module


def _guarded(path: Path, call: Callable[[], Any]) -> Any:
    """``call()``; an error in the user's code becomes one line that names the place."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        from pliant._checks import error_text

        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if Path(f.filename).name == path.name]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        place = str(path) if line is None else f"{path}, line {line}"
        says = f"SyntaxError: {error.msg}" if isinstance(error, SyntaxError) else error_text(error)
        raise UserError(f"{place}: {says} (--traceback shows the full traceback.)") from error
