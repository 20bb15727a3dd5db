"""The workers of a Dask cluster, which see the same files as this machine."""

import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from pliant.bench.folders import run_folder, write_error
from pliant.bench.perform import Outcome, perform
from pliant.bench.plan import Run
from pliant.bench.pool import AbstractPool
from pliant.cli.dask import connect


class Cluster(AbstractPool):
    """As many runs at a time as the cluster has threads, now: workers may come and go.

    Args:
        out: The folder of the grid, by a path that the workers see too.
        address: "local" starts a worker process for each core of this machine; else the address
            of a scheduler.

    Raises:
        UserError: If there is no such scheduler.
        ImportError: If Dask is not installed.
    """

    def __init__(self, out: Path, address: str):
        super().__init__(out.resolve())
        self._client, self._cluster = connect(address)
        self._running: dict[Any, tuple[Run, float]] = {}

    @property
    def size(self) -> int:
        """The threads of all workers."""
        return sum(self._client.nthreads().values())

    def start(self, waiting: list[Run]) -> Run | None:
        """The first one that waits."""
        if not waiting or len(self._running) >= self.size:
            return None
        run = waiting.pop(0)
        future = self._client.submit(perform, run, run_folder(self.out, run), pure=False)
        self._running[future] = run, time.monotonic()
        return run

    def wait(self, seconds: float) -> list[Outcome]:
        """What workers answered; and the runs that ended every worker which tried them."""
        end = time.monotonic() + seconds
        while not (done := [future for future in self._running if future.done()]):
            if time.monotonic() > end:
                return []
            time.sleep(0.05)
        return [self._outcome(future) for future in done]

    def close(self) -> None:
        """Let go of the cluster; one that was started here ends."""
        self._client.cancel(list(self._running))
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _outcome(self, future: Any) -> Outcome:
        run, start = self._running.pop(future)
        try:
            return future.result()
        except (Exception, CancelledError) as error:
            text = f"the workers died: {type(error).__name__}"
            write_error(run_folder(self.out, run), text)
            return Outcome(run.name, time.monotonic() - start, text, failed=True)
