"""What a command shows while it works: a spinner on a terminal, plain lines elsewhere."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from pliant.cli.printable import printable
from pliant.run.heartbeat import Heartbeat
from pliant.run.progress import duration

_LOGGER = "pliant"


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show what the command does: this text, then what the logger "pliant" is told.

    On a terminal it stands beside a spinner. Elsewhere the logger's lines are printed, and another
    one in every half minute without any.
    """
    if sys.stderr.isatty():
        with Console(stderr=True).status(text) as status, _heard(status.update):
            yield
        return
    doing = [text]

    def still(seconds: float) -> None:
        _print(f"{doing[-1]}; {duration(seconds)} since the start")

    with Heartbeat(still) as heartbeat:

        def tell(line: str) -> None:
            doing.append(line)
            heartbeat.spoken()
            _print(line)

        with _heard(tell):
            yield


@contextmanager
def log_lines() -> Iterator[None]:
    """Print what the logger "pliant" is told, except on a terminal, where a run shows itself."""
    if sys.stderr.isatty():
        yield
        return
    with _heard(_print):
        yield


def _print(line: str) -> None:
    typer.echo(printable(line), err=True)


class _Handler(logging.Handler):
    """Passes lines on."""

    def __init__(self, tell: Callable[[str], None]):
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


@contextmanager
def _heard(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass on what the logger is told, to nobody else."""
    logger, handler = logging.getLogger(_LOGGER), _Handler(tell)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
