"""A run that goes on, read from its folder: without a lock, whatever is there by now.

Files appear and vanish while they are read. One that cannot be read counts as absent.
"""

import os
import re
import socket
from pathlib import Path
from typing import Any

from pliant._files import read_json
from pliant.methods.base import AbstractMethod
from pliant.problem.samples import named
from pliant.problem.space import Space
from pliant.reporting.saved import read_ended, read_outline
from pliant.reporting.subject import N_SAMPLES, Known, Subject
from pliant.run import folder as layout
from pliant.run.history import History, check_rows, read_history
from pliant.run.posterior import Posterior
from pliant.run.serialise import build, decode, read_value, reading
from pliant.run.show import counted
from pliant.run.store import Progress
from pliant.run.validate import check_state

_UNREADABLE = (OSError, ValueError)
_WAITING = "The first round is being made."


def read_subject(folder: Path, known: Known) -> Subject | None:
    """The run in a folder as it is now; None if there is nothing that can be read.

    A result counts unless rounds after it have been made since, as when a run is resumed.
    """
    if not goes_on(folder):
        try:
            return read_ended(folder, known)
        except _UNREADABLE as error:
            outline = read_outline(folder, known, str(error))
        if outline is not None:
            return outline
    return read_running(folder, known) if layout.holds_run(folder) else None


def goes_on(folder: Path) -> bool:
    """Whether a folder holds more rounds than its result has, or rounds without a result."""
    try:
        ended = len(read_history(folder)) if layout.holds_result(folder) else -1
    except _UNREADABLE:
        ended = -1
    return layout.holds_run(folder) and newest_round(folder) > ended


def newest_round(folder: Path) -> int:
    """The number of the last round whose state is there; 0 before the first."""
    return max(layout.numbered(folder / layout.ROUNDS), default=0)


def read_running(folder: Path, known: Known) -> Subject:
    """A run without a result: it goes on, or it was killed."""
    method, seed, reason = _plan(folder)
    now = _last_progress(folder)
    rows: Any = () if now is None else now.rows
    posterior = _posterior(known, method, now)
    samples = None if posterior is None else posterior.sample(N_SAMPLES, seed=seed)
    alive = is_alive(folder)
    return Subject(
        history=History(rows),
        method=method,
        seed=seed,
        status=None,
        message=_message(folder, len(rows), method, alive=alive),
        failures=() if now is None else now.failures,
        reason=reason,
        posterior=posterior,
        samples=None if samples is None else named(samples),
        known=known,
        folder=str(folder),
        alive=alive,
    )


def is_alive(folder: Path) -> bool:
    """Whether the process that locked the folder may still be at work.

    The lock says which one it was. Processes of other machines count as alive.
    """
    try:
        owner = (folder / layout.ROUNDS / layout.LOCK).read_text()
    except (OSError, ValueError):
        return False
    found = re.fullmatch(r"process (\d{1,9}) on (.*)", owner.strip())
    if found is None or found[2] != socket.gethostname():
        return True
    try:
        os.kill(int(found[1]), 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _message(folder: Path, done: int, method: AbstractMethod | None, *, alive: bool) -> str:
    if not alive:
        return f"No process works on it. Continue it with pliant resume {folder}"
    if not done:
        return _WAITING
    most = "" if method is None else f" of {method.rounds}"
    return f"{counted(done, 'round')}{most} done."


def _plan(folder: Path) -> tuple[AbstractMethod | None, int, str]:
    """Method, seed and reason; without a method if its class is a user's own."""
    try:
        data = read_json(folder / layout.RUN)
        seed, reason = data.get("seed"), data.get("reason")
        seed = seed if isinstance(seed, int) else 0
        reason = reason if isinstance(reason, str) else ""
        with reading(folder / layout.RUN):
            method = decode(data["method"])
    except _UNREADABLE:
        return None, 0, ""
    return (method if isinstance(method, AbstractMethod) else None), seed, reason


def _last_progress(folder: Path) -> Progress | None:
    """The newest round that can be read."""
    for index, path in reversed(layout.numbered(folder / layout.ROUNDS).items()):
        try:
            stored = read_value(path)
            with reading(path):
                now = build(Progress, stored)
                check_rows(now.rows)
                if len(now.rows) == index:
                    return now
        except _UNREADABLE:
            continue
    return None


def _posterior(
    known: Known, method: AbstractMethod | None, now: Progress | None
) -> Posterior | None:
    """The posterior after the last round, if the space of the parameters is known."""
    if known.problem is None or method is None or now is None or now.state is None:
        return None
    space: Space = known.problem.prior.space
    try:
        with reading(Path(layout.ROUNDS)):
            check_state(now.state, method=method, space=space)
            density = method.posterior(now.state)
    except ValueError:
        return None
    return None if density is None else Posterior(space, density)
