"""The states of pages that a server shows: each is made again when its files have changed."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pliant.reporting.content import content_of
from pliant.reporting.page import live_state, report_page
from pliant.reporting.progress import is_alive, read_subject
from pliant.reporting.subject import Known, Subject
from pliant.run import folder as layout
from pliant.run.history import History

_NOTHING = "Nothing has been written yet."
_GONE = (
    "The folder of the run is gone. The run ended without a posterior, or somebody removed it. The "
    "program that made it tells more."
)


class Shown(NamedTuple):
    """A page, and the state by which an open one is brought up to date."""

    page: str
    state: dict[str, Any]


@runtime_checkable
class Source(Protocol):
    """What a server can show at an address."""

    def shown(self) -> Shown:
        """The page as it is now."""
        ...


class LiveRun:
    """The page of a run, whether it goes on or has ended.

    Args:
        folder: The folder of the run.
        known: Finds out what is known beside the files. Called once while the run goes on, and
            once more, with True, when it has ended.
    """

    def __init__(self, folder: Path, known: Callable[[bool], Known]):
        self._folder, self._find = folder, known
        self._lock = threading.Lock()
        self._known: dict[bool, Known] = {}
        self._stamp: Any = None
        self._shown: Shown | None = None
        self._last: Subject | None = None

    def shown(self) -> Shown:
        """The page; the one before if a file is being replaced right now."""
        with self._lock:
            stamp = _stamp(self._folder)
            if self._shown is None or stamp != self._stamp:
                subject = self._read() or self._gone()
                if subject is not None or self._shown is None:
                    self._last = subject
                    self._shown, self._stamp = _shown(subject or _nothing(self._folder)), stamp
            return self._shown

    def _read(self) -> Subject | None:
        ended = layout.holds_result(self._folder)
        if ended not in self._known:
            self._known[ended] = self._find(ended)
        return read_subject(self._folder, self._known[ended])

    def _gone(self) -> Subject | None:
        """A run whose folder was removed before it had ended, and is not being replaced."""
        if self._last is None or not self._last.is_running or is_alive(self._folder):
            return None
        return dataclasses.replace(self._last, message=_GONE, alive=False)


def _shown(subject: Subject) -> Shown:
    content = content_of(subject)
    final = subject.status is not None
    told = "" if final and subject.diagnosis is not None else told_of(subject)
    state = live_state(content, told=told, live=True)
    return Shown(report_page(content, told=told, live=True), state)


def told_of(subject: Subject) -> str:
    """What the head of the page says about the state of the run."""
    if subject.status is None:
        return f"{'Running' if subject.alive else 'Not finished'}: {subject.message}"
    return "The run has ended. There is no diagnosis yet."


def _nothing(folder: Path) -> Subject:
    return Subject(History(), None, 0, None, _NOTHING, folder=str(folder), alive=True)


def _stamp(folder: Path) -> list[tuple[str, int]]:
    """When the files that a page depends on were written, and whether a process writes more."""
    names = [layout.RUN, layout.RESULT, layout.POSTERIOR, layout.SAMPLES, layout.DIAGNOSIS]
    paths = [folder / name for name in names]
    paths += list(layout.numbered(folder / layout.ROUNDS).values())
    found = [(layout.LOCK, int(is_alive(folder)))]
    for path in paths:
        try:
            found.append((path.name, path.stat().st_mtime_ns))
        except OSError:
            continue
    return found
