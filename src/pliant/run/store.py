"""A run on disk, open for one process: its plan, the states of its last rounds, its simulations."""

import contextlib
import functools
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant._checks import check_seed
from pliant._files import checksum, lock, read_json, remove_unfinished, write_json
from pliant.methods.base import AbstractMethod, Stop
from pliant.methods.status import Status
from pliant.problem.problem import Problem
from pliant.run import folder as layout
from pliant.run.failures import Failure
from pliant.run.history import check_rows
from pliant.run.ledger import Ledger, holds_usable_draw
from pliant.run.ownership import check_own, remove_lock, remove_run
from pliant.run.serialise import (
    build,
    by_name,
    check_names,
    decode,
    encode,
    read_value,
    reading,
    write_value,
)
from pliant.run.validate import check_state

_KEPT = 3  # rounds whose states are kept, in case the newest one is damaged


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
    reason: str = ""
    """Why the method compares data as it does; empty if a user chose that."""

    def most_simulations(self, problem: Problem) -> int:
        """How often the rounds call the simulator, at most."""
        most = self.method.rounds * self.method.simulations_per_round(problem)
        return most if self.max_simulations is None else min(most, self.max_simulations)

    def budget_stop(self, problem: Problem, simulations: int, seconds: float) -> Stop | None:
        """The end of a run that has no budget left for another round."""
        most = simulations + self.method.simulations_per_round(problem)
        if self.max_simulations is not None and most > self.max_simulations:
            message = f"Another round would exceed {self.max_simulations:,} simulations."
            return Stop(Status.OUT_OF_SIMULATIONS, message)
        if self.max_seconds is not None and seconds > self.max_seconds:
            return self.out_of_time
        return None

    @property
    def out_of_time(self) -> Stop:
        """The end of a run whose time is over."""
        return Stop(Status.OUT_OF_TIME, f"{self.max_seconds:g} seconds have passed.")

    def check_sizes(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if not even one round is within the memory and the budget."""
        self.method.check_memory(problem)
        one_round = self.method.simulations_per_round(problem)
        if self.max_simulations is not None and self.max_simulations < one_round:
            raise ValueError(
                f"max_simulations: one round makes {one_round:,} simulator calls, so a budget of "
                f"{self.max_simulations:,} allows none. Lower n_particles or n_draws."
            )


class RunStore:
    """The files of a run, open for one process at a time. Use it in a ``with`` block.

    Args:
        folder: The run's folder, created if it does not exist.
        classes: A user's own classes that the files hold.

    Raises:
        InUseError: If another process has it open.
    """

    def __init__(self, folder: Path, classes: Iterable[type] = ()):
        self.folder = folder
        self._own = by_name(classes)
        self._check_state: Callable[[Any], None] = lambda state: None  # until the plan is known
        self._made = [path for path in (folder, *folder.parents) if not path.exists()]
        self._lock = lock(folder / layout.ROUNDS / layout.LOCK, folder)
        ledgers = (folder / layout.SIMULATIONS).glob("*")
        for part in (folder, folder / layout.ROUNDS, *ledgers):
            remove_unfinished(part)

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        kept = layout.holds_run(self.folder) or layout.holds_result(self.folder)
        if not kept and not self.holds_simulations:
            self.discard()
        self._lock.close()

    def begin(self, plan: Plan, problem: Problem) -> None:
        """Write the plan of a new run.

        Raises:
            FileExistsError: If there is a run, a result or something else in the folder.
            TypeError: If the method cannot be written.
        """
        check_new(self.folder)
        self.write_plan(plan, problem)

    def write_plan(self, plan: Plan, problem: Problem) -> None:
        """Write a plan, in place of the one before."""
        options = {**plan._asdict(), "method": encode(plan.method, "method")}
        data = {"format": layout.FORMAT, **options, "problem": _fingerprint(problem)}
        write_json(self.folder / layout.RUN, data)

    def plan(self, problem: Problem) -> Plan:
        """Read the plan.

        Raises:
            FileNotFoundError: If there is no run in the folder.
            ValueError: If its plan is damaged, or it was made with another problem.
        """
        check_begun(self.folder)
        path = self.folder / layout.RUN
        data = read_json(path)
        layout.check_format(path, data)
        with reading(path):
            check_names(data, ("format", "problem", *Plan._fields))
            fields = {name: data[name] for name in Plan._fields}
            plan = build(Plan, {**fields, "method": decode(data["method"], own=self._own)})
            check_seed("seed", plan.seed)
            stored = dict(data["problem"])
        current = _fingerprint(problem)
        for part in (*current, *stored):
            if stored.get(part) != current.get(part):
                raise ValueError(f"problem: the run in {self.folder} was made with another {part}.")
        self._check_state = functools.partial(
            check_state, method=plan.method, space=problem.prior.space
        )
        return plan

    def save(self, index: int, progress: Progress) -> None:
        """Write what is known after a round (0: before the first), and remove the oldest."""
        write_value(layout.round_file(self.folder, index), progress._asdict())
        for old in self.rounds:
            if old <= index - _KEPT:
                layout.round_file(self.folder, old).unlink(missing_ok=True)

    def last(self) -> Progress | None:
        """The newest round that can be read, or None. Warns of damaged ones."""
        for index in sorted(self.rounds, reverse=True):
            path = layout.round_file(self.folder, index)
            try:
                stored = read_value(path, self._own)
                with reading(path):
                    progress = build(Progress, stored)
                    check_rows(progress.rows)
                    self._check_state(progress.state)
                    if len(progress.rows) != index:
                        raise ValueError(f"not the state of round {index}.")
            except ValueError as error:
                before = f"round {index - 1}" if index else "the start"
                warnings.warn(f"{error} Resuming from {before} or earlier.", stacklevel=3)
            else:
                return progress
        return None

    @property
    def rounds(self) -> list[int]:
        """The rounds whose states are there, readable or not."""
        return list(layout.numbered(self.folder / layout.ROUNDS))

    def ledger(self, index: int) -> Ledger:
        """The simulations of a round made so far. Warns of damaged files."""
        return Ledger(layout.ledger_folder(self.folder, index))

    @property
    def holds_simulations(self) -> bool:
        """Whether there are draws that would be lost with the folder."""
        return any((self.folder / layout.SIMULATIONS).glob("*/*.npz"))

    @property
    def holds_usable_simulations(self) -> bool:
        """Whether any of these draws is usable."""
        return any(map(holds_usable_draw, (self.folder / layout.SIMULATIONS).glob("*/*.npz")))

    def discard(self) -> None:
        """Remove the run, and the folders that were made for it if nothing else is in them."""
        remove_run(self.folder)
        remove_lock(self.folder)
        with contextlib.suppress(OSError):  # something else is in there
            for path in self._made:
                path.rmdir()


def check_new(folder: Path) -> None:
    """Refuse a folder that a new run may not use. Nothing is written.

    Raises:
        FileExistsError: If there is a run, a result or something else in it.
    """
    check_own(folder)
    if layout.holds_run(folder):
        raise FileExistsError(
            f"{folder} holds a run already. Continue it with "
            f"pliant.resume({str(folder)!r}, problem), or choose another folder."
        )
    if layout.holds_result(folder):
        raise FileExistsError(f"{folder} holds a result already. Choose another folder.")


def check_begun(folder: Path) -> None:
    """Refuse a folder without a run, by a ``FileNotFoundError``."""
    if not layout.holds_run(folder):
        raise FileNotFoundError(f"{folder} holds no run (there is no {layout.RUN} in it).")


def _fingerprint(problem: Problem) -> dict[str, str]:
    """Digests of the parts of a problem, except for the simulator's code."""
    parts: dict[str, Any] = {
        "observed": problem.observed,
        "prior": problem.prior.space,
        "scale": problem.scale,
    }
    if problem.conditions is not None:
        parts["conditions"] = problem.conditions.values
    if problem.seen is not None:
        parts["missing"] = (problem.seen, problem.missing)
    if problem.layout.names is not None:
        parts["entries"] = (problem.layout.names, problem.layout.shapes)
    return {name: _digest(part) for name, part in parts.items()}


def _digest(value: Any) -> str:
    arrays: dict[str, np.ndarray] = {}
    tree = json.dumps(encode(value, arrays=arrays))
    return checksum({"tree": np.array(tree), **arrays})
