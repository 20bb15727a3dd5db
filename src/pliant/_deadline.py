"""A limit on the time that something may take, which long work looks at every second or so."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("end", default=math.inf)


class DeadlineError(Exception):
    """The time is over."""


@contextmanager
def time_limit(end: float) -> Iterator[None]:
    """Let ``check_time`` raise in this block after ``end``, as ``time.monotonic`` tells it.

    Threads that are started in the block know of it if they run in a copy of its context.
    """
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Raise a ``DeadlineError`` if the time is over; called between parts of long work."""
    if time.monotonic() > _end.get():
        raise DeadlineError
