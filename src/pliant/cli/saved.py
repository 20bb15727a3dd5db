"""A saved run, read for ``pliant show`` without loading JAX where that is possible."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.cli.errors import UserError
from pliant.cli.run_folder import N_SAMPLES, changed_options
from pliant.problem.samples import named

if TYPE_CHECKING:
    from pliant.run.failures import Failure
    from pliant.run.history import History


@dataclass(frozen=True)
class SavedRun:
    """What ``pliant show`` shows."""

    status: str
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
    """Read a run that ``pliant run`` or ``Result.save`` wrote.

    Raises:
        UserError: If the folder holds none.
        ValueError: If a file is damaged.
    """
    from pliant._files import read_arrays, read_json
    from pliant.run.failures import Failure
    from pliant.run.history import History

    if not (folder / "result.json").is_file():
        if (folder / "run.json").is_file():
            raise UserError(f"{folder}: not finished. pliant resume {folder} goes on with it.")
        raise UserError(f"{folder} holds no run (there is no result.json in it).")
    try:
        data = read_json(folder / "result.json")
        history = History(read_json(folder / "history.json"))
        if (folder / "config.json").is_file() and (folder / "samples.npz").is_file():
            config = read_json(folder / "config.json")
            changed, samples = config["changed"], read_arrays(folder / "samples.npz")
        else:
            from pliant.run.result import load

            result = load(folder)
            config, changed = {}, changed_options(result.method)
            samples = named(result.posterior.sample(N_SAMPLES, seed=result.seed))
        return SavedRun(
            status=data["status"],
            message=data["message"],
            check=data.get("check"),
            seed=data["seed"],
            method=data["method"]["class"],
            changed=changed,
            history=history,
            samples=samples,
            failures=[Failure(**failure) for failure in data.get("failures", ())],
            config=config,
        )
    except FileNotFoundError as error:
        raise UserError(f"{folder}: {Path(error.filename).name} is missing.") from error
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{folder}: the run is damaged or of another version ({error!r})."
        ) from error
