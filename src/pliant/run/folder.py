"""The folder of a run that can be resumed: its options, its last rounds, and its simulations."""

import contextlib
import hashlib
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant._files import lock, read_json, remove_unfinished, write_json
from pliant.methods.base import AbstractMethod, Stop
from pliant.problem.problem import Problem
from pliant.problem.space import encode_support
from pliant.run.checkpoint import read_checkpoint, write_checkpoint
from pliant.run.config import decode, encode
from pliant.run.failures import Failure
from pliant.run.ledger import Ledger

_FORMAT = 1
_KEPT = 3  # rounds whose states are kept, for the case that the newest one is damaged
_RUN, _ROUNDS, _SIMULATIONS, _LOCK = "run.json", "rounds", "simulations", ".lock"
_RESULT = ("result.json", "posterior.npz", "history.json")


class Progress(NamedTuple):
    """All that a run knows after a round."""

    state: Any
    """The method's."""
    simulations: int
    seconds: float
    rows: tuple[dict[str, Any], ...]
    """The history."""
    failures: tuple[Failure, ...]
    stop: Stop | None
    """Set if the method ended the run here."""


class Plan(NamedTuple):
    """What a run was asked to do."""

    method: AbstractMethod
    seed: int
    max_simulations: int | None
    max_seconds: float | None


class RunStore:
    """The files of a run, open for one process at a time. Use it in a ``with`` block.

    ``run.json`` holds the plan, ``rounds/003.npz`` all that is known after round 3, and
    ``simulations/003/`` the draws of that round. Every file is whole or absent.

    Args:
        folder: Of the run; it is made if it does not exist.

    Raises:
        InUseError: If another process has it open.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / _ROUNDS).mkdir(parents=True, exist_ok=True)
        self._lock = lock(folder / _ROUNDS / _LOCK, folder)
        for part in (folder, folder / _ROUNDS, *sorted((folder / _SIMULATIONS).glob("*"))):
            remove_unfinished(part)

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def begin(self, plan: Plan, problem: Problem) -> None:
        """Write the plan of a new run.

        Raises:
            FileExistsError: If there is a run in the folder.
        """
        if (self.folder / _RUN).exists():
            raise FileExistsError(
                f"{self.folder} holds a run already. pliant.resume({str(self.folder)!r}, problem) "
                "goes on with it; or choose another folder."
            )
        self._write_plan(plan, _fingerprint(problem))

    def extend(self, plan: Plan, problem: Problem) -> None:
        """Write a plan whose budget has changed."""
        self._write_plan(plan, _fingerprint(problem))

    def plan(self, problem: Problem, classes: Iterable[type] = ()) -> Plan:
        """What the run was asked to do.

        Raises:
            FileNotFoundError: If there is no run in the folder.
            ValueError: If its plan is damaged, or it was made with another problem.
        """
        path = self.folder / _RUN
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} holds no run (there is no {_RUN} in it).")
        data = read_json(path)
        try:
            if data["format"] != _FORMAT:
                raise ValueError(f"format {data['format']!r}, where {_FORMAT} was expected")
            plan = Plan(
                method=decode(data["method"], classes),
                seed=data["seed"],
                max_simulations=data["max_simulations"],
                max_seconds=data["max_seconds"],
            )
            stored = data["problem"]
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path}: damaged, or of another version: {error!r}.") from error
        for part, digest in _fingerprint(problem).items():
            if stored.get(part) != digest:
                raise ValueError(f"problem: the run in {self.folder} was made with another {part}.")
        return plan

    def save(self, index: int, progress: Progress) -> None:
        """Write what is known after a round (0: before the first), and drop the oldest."""
        write_checkpoint(self._round(index), progress)
        for old in self._rounds():
            if old <= index - _KEPT:
                self._round(old).unlink(missing_ok=True)

    def last(self) -> Progress | None:
        """The newest round that can be read; None if there is none. Warns of damaged ones."""
        for index in sorted(self._rounds(), reverse=True):
            try:
                progress = read_checkpoint(self._round(index))
                if not isinstance(progress, Progress) or len(progress.rows) != index:
                    raise ValueError(f"{self._round(index)}: not the state of round {index}.")
            except ValueError as error:
                before = f"round {index - 1}" if index else "the start"
                warnings.warn(f"{error} The run goes on from {before} or earlier.", stacklevel=3)
            else:
                return progress
        return None

    def ledger(self, index: int) -> Ledger:
        """The simulations of a round, as far as they are made. Warns of damaged files."""
        return Ledger(self.folder / _SIMULATIONS / f"{index:03d}")

    @property
    def holds_simulations(self) -> bool:
        """Whether there are draws that it would be a pity to lose."""
        return any((self.folder / _SIMULATIONS).glob("*/*.npz"))

    def discard(self) -> None:
        """Remove the run, and its folder if nothing else is in it."""
        remove_run(self.folder)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _round(self, index: int) -> Path:
        return self.folder / _ROUNDS / f"{index:03d}.npz"

    def _rounds(self) -> list[int]:
        names = [path.stem for path in (self.folder / _ROUNDS).glob("*.npz")]
        return [int(name) for name in names if name.isdigit()]

    def _write_plan(self, plan: Plan, problem: dict[str, str]) -> None:
        write_json(
            self.folder / _RUN,
            {
                "format": _FORMAT,
                "method": encode(plan.method),
                "seed": plan.seed,
                "max_simulations": plan.max_simulations,
                "max_seconds": plan.max_seconds,
                "problem": problem,
            },
        )


def holds_run(folder: Path) -> bool:
    """Whether there is a run in the folder, finished or not."""
    return (folder / _RUN).is_file()


def remove_run(folder: Path) -> None:
    """Remove all that a run wrote into the folder, and nothing else."""
    for name in (_RUN, *_RESULT):
        (folder / name).unlink(missing_ok=True)
    for name in (_SIMULATIONS, _ROUNDS):
        shutil.rmtree(folder / name, ignore_errors=True)


def _fingerprint(problem: Problem) -> dict[str, str]:
    """Digests of what can be told of a problem; the simulator's code cannot."""
    space = problem.prior.space
    supports = [encode_support(support) for support in space.supports]
    return {
        "observed": _digest(np.asarray(problem.observed)),
        "prior": _digest(
            repr((space.names, space.shapes, supports)),
            np.asarray(space.loc),
            np.asarray(space.scale),
        ),
        "scale": _digest(repr(problem.scale)),
    }


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.shape, part.dtype.str)).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(str(part).encode())
    return digest.hexdigest()
