"""Who performs the runs: what the processes of this machine and a cluster have in common."""

import abc
from pathlib import Path
from types import TracebackType

from pliant.bench.perform import Outcome
from pliant.bench.plan import Run


class AbstractPool(abc.ABC):
    """Workers that perform runs. Use it in a ``with`` block, which ends them.

    Args:
        out: The folder of the grid.
    """

    def __init__(self, out: Path):
        self.out = out

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many workers there are, now."""

    @abc.abstractmethod
    def start(self, waiting: list[Run]) -> Run | None:
        """Give one of the waiting runs to a free worker; None if no worker is free."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> list[Outcome]:
        """The runs that have ended since the last call; waits so long for one."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the workers, in the middle of a run too."""

    def __enter__(self) -> "AbstractPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
