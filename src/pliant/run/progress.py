"""The live display of a run: one line that is rewritten, on a terminal only."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column

from pliant.run.history import COLUMNS

_BAR = 10
_SPINNER_AND_GAPS = 5
_SHOWN = ("bandwidth", "ess", "kl", "acceptance", "distance_median", "simulations")


class Display:
    """Shows rounds, time left, bandwidth, ESS, KL, distance and simulations on standard error.

    Args:
        rounds: The most rounds of the run.
        enabled: Whether to show anything. Nothing is shown unless standard error is a terminal.
    """

    def __init__(self, rounds: int, *, enabled: bool):
        self._rounds = rounds
        self._start = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._console = Console(file=sys.stderr)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.completed}/{task.total} rounds", table_column=_fixed()),
            BarColumn(bar_width=_BAR, table_column=_fixed()),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            console=self._console,
            disable=not (enabled and sys.stderr.isatty()),
            transient=True,
        )
        self._task = self._progress.add_task("compiling", total=rounds)

    def __enter__(self) -> "Display":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, row: dict[str, Any]) -> None:
        """Show the row of the round that has just finished."""
        parts = [f"{duration(self._seconds_left(row['round']))} left"]
        shown = {name: COLUMNS[name] for name in _SHOWN if row.get(name) is not None}
        parts += [f"{column.label} {column.format(row[name])}" for name, column in shown.items()]
        text = _fitting(parts, self._room())
        self._progress.update(self._task, completed=row["round"], description=text)

    def simulating(self, made: int, wanted: int) -> None:
        """Show how many draws of a slow simulator have been made."""
        text = f"simulating {made:,} of {wanted:,}"
        self._progress.update(self._task, description=_fitting([text], self._room()))

    def _seconds_left(self, done: int) -> float:
        """By the mean time of the rounds, except for the first one shown, which also compiles."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, done
            return (now - self._start) * (self._rounds - done)
        then, first = self._first
        return (now - then) / (done - first) * (self._rounds - done)

    def _room(self) -> int:
        counter = len(f"{self._rounds}/{self._rounds} rounds")
        return self._console.width - counter - _BAR - _SPINNER_AND_GAPS


def _fixed() -> Column:
    return Column(no_wrap=True, overflow="ignore")


def duration(seconds: float) -> str:
    """``12 s``, ``3 min`` or ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _fitting(parts: list[str], room: int) -> str:
    """As many of the parts, from the first one on, as fit."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + 3 + len(part) > room:
            break
        text += f" · {part}"
    return text
