"""A saved run, read for ``pliant show`` without loading JAX if possible."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.cli.errors import UserError
from pliant.cli.run_folder import N_SAMPLES, changed_options
from pliant.problem.samples import named
from pliant.run import folder as layout

if TYPE_CHECKING:
    from pliant.methods.status import Status
    from pliant.run.failures import Failure
    from pliant.run.history import History


@dataclass(frozen=True)
class SavedRun:
    """What ``pliant show`` shows."""

    status: "Status"
    message: str
    check: str | None
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
        if (folder / layout.CONFIG).is_file() and (folder / layout.SAMPLES).is_file():
            config = read_json(folder / layout.CONFIG)
            changed, samples = config["changed"], read_arrays(folder / layout.SAMPLES)
        else:
            from pliant.run.result import load

            result = load(folder)
            config, changed = {}, changed_options(result.method)
            samples = named(result.posterior.sample(N_SAMPLES, seed=result.seed))
        return SavedRun(
            status=Status(data["status"]),
            message=data["message"],
            check=data["check"],
            seed=data["seed"],
            method=data["method"]["class"],
            changed=changed,
            history=history,
            samples=samples,
            failures=[Failure(**failure) for failure in data["failures"]],
            config=config,
        )
    except FileNotFoundError as error:
        if error.filename is None:  # its message names the file
            raise
        raise UserError(f"{folder}: {Path(error.filename).name} is missing.") from error
    except (KeyError, TypeError) as error:
        raise UserError(f"{folder}: damaged, or not written by Pliant ({error!r}).") from error
