"""What a run shows of itself: a line that is rewritten on a terminal and in a notebook, or logs."""

import logging
import sys
import time
from contextlib import ExitStack
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column

from pliant.run.heartbeat import Heartbeat
from pliant.run.history import COLUMNS
from pliant.run.notebook import NotebookLine, in_notebook
from pliant.run.show import counted

logger = logging.getLogger("pliant")

_BAR = 10
_SPINNER_AND_GAPS = 5
_SHOWN = ("bandwidth", "ess", "kl", "acceptance", "distance_median", "simulations")


class Display:
    """Shows rounds, time left, bandwidth, ESS, KL, distance and simulations.

    On a terminal, standard error has a line that is rewritten, and in a notebook the cell has one.
    Elsewhere, the logger "pliant" gets one line per round, and another one in every half minute
    without any.

    Args:
        rounds: The most rounds of the run.
        done: The rounds that have been made already.
        simulations: The most simulations of the run, for an estimate of their time.
        enabled: Whether to show anything.
    """

    def __init__(
        self, rounds: int, *, enabled: bool, done: int = 0, simulations: int | None = None
    ):
        self._rounds, self._done, self._simulations = rounds, done, simulations
        self._start = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._console = Console(file=sys.stderr)
        is_live = enabled and sys.stderr.isatty()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.completed}/{task.total} rounds", table_column=_fixed()),
            BarColumn(bar_width=_BAR, table_column=_fixed()),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            console=self._console,
            disable=not is_live,
            transient=True,
        )
        self._task = self._progress.add_task("compiling", total=rounds, completed=done)
        self._doing = "compiling"
        self._cell = NotebookLine() if enabled and not is_live and in_notebook() else None
        logs = enabled and not is_live and self._cell is None
        self._heartbeat = Heartbeat(self._still) if logs else None
        self._opened = ExitStack()

    def __enter__(self) -> "Display":
        self._opened.enter_context(self._progress)
        if self._heartbeat is not None:
            self._opened.enter_context(self._heartbeat)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
        if self._cell is not None:
            taken = duration(time.monotonic() - self._start)
            self._cell.write(f"{counted(self._done, 'round')} in {taken}")

    def begin(self) -> None:
        """Tell that the first round begins, once nothing is wrong with the options."""
        if self._heartbeat is not None:
            logger.info(f"{self._next_round()}: compiling")
        if self._cell is not None:
            self._cell.write(f"{self._next_round()}: compiling")

    def update(self, row: dict[str, Any]) -> None:
        """Show the row of the round that has just finished."""
        parts = [f"{duration(self._seconds_left(row['round']))} left"]
        shown = {name: COLUMNS[name] for name in _SHOWN if row.get(name) is not None}
        parts += [f"{column.label} {column.format(row[name])}" for name, column in shown.items()]
        text = _fitting(parts, self._room())
        self._progress.update(self._task, completed=row["round"], description=text)
        if self._heartbeat is not None:
            logger.info(f"{self._next_round()}: {', '.join(parts)}")
            self._heartbeat.spoken()
        if self._cell is not None:
            self._cell.write(f"round {row['round']} of {self._rounds}: {' · '.join(parts)}")
        self._done, self._doing = row["round"], "running"

    def simulating(self, made: int, wanted: int, pace: float | None = None) -> None:
        """Show how many draws of a slow simulator have been made, and how many per second."""
        parts = [f"simulating {made:,} of {wanted:,}"]
        if pace and self._simulations is not None:
            parts.append(f"up to {duration(self._simulations / pace)} for {self._simulations:,}")
        text = _fitting(parts, self._room())
        self._progress.update(self._task, description=text)
        self._doing = ", ".join(parts) if made < wanted else "running"
        if self._cell is not None:
            self._cell.write(f"{self._next_round()}: {' · '.join(parts)}")

    def _next_round(self) -> str:
        return f"round {self._done + 1} of {self._rounds}"

    def _still(self, seconds: float) -> None:
        logger.info(f"{self._next_round()}: {self._doing}; {duration(seconds)} since the start")

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
