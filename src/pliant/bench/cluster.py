"""A pool of Dask workers, which see the same files as this machine."""

import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from pliant.bench.folders import run_folder, write_error
from pliant.bench.perform import RunOutcome, perform
from pliant.bench.plan import Run
from pliant.bench.pool import AbstractPool


class DaskPool(AbstractPool):
    """As many runs at a time as the cluster has threads at that moment.

    Args:
        out: The folder of the grid, by a path that the workers see too.
        client: A client of the cluster; ``close`` closes it.
        cluster: The cluster itself, if ``close`` shall end it too.
    """

    def __init__(self, out: Path, client: Any, cluster: Any = None):
        super().__init__(out.resolve())
        self._client, self._cluster = client, cluster
        self._running: dict[Any, tuple[Run, float]] = {}

    @property
    def size(self) -> int:
        """The number of threads of all workers."""
        return sum(self._client.nthreads().values())

    def start(self, waiting: list[Run]) -> Run | None:
        """Submit the first waiting run."""
        if not waiting or len(self._running) >= self.size:
            return None
        run = waiting.pop(0)
        future = self._client.submit(perform, run, run_folder(self.out, run), pure=False)
        self._running[future] = run, time.monotonic()
        return run

    def wait(self, seconds: float) -> list[RunOutcome]:
        """The runs that have ended, including those that killed every worker that tried them."""
        end = time.monotonic() + seconds
        while not (done := [future for future in self._running if future.done()]):
            if time.monotonic() > end:
                return []
            time.sleep(0.05)
        return [self._outcome(future) for future in done]

    def close(self) -> None:
        """Cancel the runs and close the client; end the cluster if the pool owns it."""
        self._client.cancel(list(self._running))
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _outcome(self, future: Any) -> RunOutcome:
        run, start = self._running.pop(future)
        try:
            return future.result()
        except (Exception, CancelledError) as error:
            text = f"the workers died: {type(error).__name__}"
            write_error(run_folder(self.out, run), text)
            return RunOutcome(run.name, time.monotonic() - start, text, failed=True)
