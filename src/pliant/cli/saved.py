"""A saved run, read for ``pliant show`` without loading JAX if possible."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.cli.errors import UserError
from pliant.cli.run_folder import N_SAMPLES, changed_options
from pliant.problem.samples import as_row, as_table, named
from pliant.run import folder as layout

if TYPE_CHECKING:
    from pliant.methods.status import Status
    from pliant.run.failures import Failure
    from pliant.run.history import History

_RESULT = {"status": str, "message": str, "check": None, "seed": int, "method": dict}
_RESULT |= {"failures": list, "reason": str}
_FAILURE = {"kind": str, "draws": int, "message": str, "parameters": dict}
_CONFIG = {"target": str, "n_obs": int, "changed": dict, "truth": dict}


@dataclass(frozen=True)
class SavedRun:
    """What ``pliant show`` shows."""

    status: "Status"
    message: str
    check: str | None
    reason: str
    seed: int
    method: str
    changed: dict[str, Any]
    history: "History"
    samples: dict[str, Any]
    failures: "list[Failure]"
    config: dict[str, Any]
    """Empty for a result that was saved from Python."""


def read_run(folder: Path) -> SavedRun:
    """Read a run that ``pliant run`` or ``Result.save`` wrote."""
    from pliant._files import read_arrays, read_json
    from pliant.methods.status import Status
    from pliant.run.failures import Failure
    from pliant.run.history import read_history

    if not layout.holds_result(folder):
        if layout.holds_run(folder):
            raise UserError(f"{folder}: not finished. Continue it with pliant resume {folder}.")
        raise UserError(f"{folder} holds no run (there is no {layout.RESULT} in it).")
    try:
        data = read_json(folder / layout.RESULT)
        layout.check_format(folder / layout.RESULT, data)
        history = read_history(folder)
        _check_result(folder / layout.RESULT, data)
        if (folder / layout.CONFIG).is_file() and (folder / layout.SAMPLES).is_file():
            config = read_json(folder / layout.CONFIG)
            layout.check_fields(folder / layout.CONFIG, config, _CONFIG)
            changed, samples = config["changed"], read_arrays(folder / layout.SAMPLES)
            _check_samples(folder, samples, config["truth"])
        else:
            from pliant.run.result import load

            result = load(folder)
            config, changed = {}, changed_options(result.method)
            samples = named(result.posterior.sample(N_SAMPLES, seed=result.seed))
        return SavedRun(
            status=Status(data["status"]),
            message=data["message"],
            check=data["check"],
            reason=data["reason"],
            seed=data["seed"],
            method=data["method"]["class"],
            changed=changed,
            history=history,
            samples=samples,
            failures=[Failure(*(one[n] for n in Failure._fields)) for one in data["failures"]],
            config=config,
        )
    except FileNotFoundError as error:
        if error.filename is None:  # its message names the file
            raise
        raise UserError(f"{folder}: {Path(error.filename).name} is missing.") from error


def _check_result(path: Path, data: dict[str, Any]) -> None:
    """Refuse what cannot be printed, by a ``ValueError`` that names the file."""
    layout.check_fields(path, data, _RESULT)
    layout.check_fields(path, data["method"], {"class": str})
    for failure in data["failures"]:
        layout.check_fields(path, failure if isinstance(failure, dict) else {}, _FAILURE)


def _check_samples(folder: Path, samples: dict[str, Any], truth: dict[str, Any]) -> None:
    try:
        names, _ = as_table(samples)
        if truth and len(as_row(truth, list(samples))) != len(names):
            raise ValueError(f"the truth in {layout.CONFIG} is of other parameters")
    except (ValueError, TypeError) as error:
        path = folder / layout.SAMPLES
        raise ValueError(f"{path}: damaged, or not written by Pliant: {error}") from error
