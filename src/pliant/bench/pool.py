"""The interface of a pool of workers that perform runs."""

import abc
from pathlib import Path

from pliant.bench.perform import RunOutcome
from pliant.bench.plan import Run


class AbstractPool(abc.ABC):
    """Workers that perform runs. Use it in a ``with`` block, which closes it.

    Args:
        out: The folder of the grid.
    """

    def __init__(self, out: Path):
        self.out = out

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The current number of workers."""

    @abc.abstractmethod
    def start(self, waiting: list[Run]) -> Run | None:
        """Remove a run from ``waiting`` and start it; None if no worker is free."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> list[RunOutcome]:
        """The runs that have ended since the last call; waits up to ``seconds`` for one."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the workers, even in the middle of a run."""

    def __enter__(self) -> "AbstractPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
