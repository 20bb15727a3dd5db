"""A pool of worker processes on this machine."""

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pliant.bench.folders import run_folder, write_error
from pliant.bench.perform import RunOutcome, perform
from pliant.bench.plan import Run
from pliant.bench.pool import AbstractPool

_SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang


@dataclass
class _Worker:
    process: BaseProcess
    connection: Any
    """The parent's end of the pipe."""
    run: Run | None = None
    kind: tuple[str, str, int] | None = None
    """Kind of the last run; a run of the same kind needs no compilation."""
    started: float = 0.0


class ProcessPool(AbstractPool):
    """Each worker performs one run after another. If it dies, its run fails and it is replaced.

    Args:
        out: The folder of the grid.
        size: The number of workers.
    """

    def __init__(self, out: Path, size: int):
        super().__init__(out)
        self._workers = [_new_worker() for _ in range(size)]

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self._workers)

    def start(self, waiting: list[Run]) -> Run | None:
        """Prefer a run like the worker's last one, then one unlike those of other workers."""
        worker = next((worker for worker in self._workers if worker.run is None), None)
        if worker is None or not waiting:
            return None
        busy = {other.kind for other in self._workers if other is not worker}
        run = min(waiting, key=lambda run: (_kind(run) != worker.kind, _kind(run) in busy))
        waiting.remove(run)
        worker.run, worker.kind, worker.started = run, _kind(run), time.monotonic()
        worker.connection.send((run, run_folder(self.out, run)))
        return run

    def wait(self, seconds: float) -> list[RunOutcome]:
        """The runs that ended or whose worker died."""
        outcomes = []
        busy = {worker.connection: worker for worker in self._workers if worker.run is not None}
        for connection in wait(list(busy), timeout=seconds):
            worker = busy[connection]
            try:
                outcomes.append(worker.connection.recv())
                worker.run = None
            except (EOFError, OSError):  # OSError if it died before it read its run
                outcomes.append(self._replace_dead(worker))
        return outcomes

    def close(self) -> None:
        """Kill the workers. No file is left half-written; runs resume from their last round."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.connection.close()

    def _replace_dead(self, worker: _Worker) -> RunOutcome:
        worker.process.join()
        assert worker.run is not None
        text = f"the worker process died (exit code {worker.process.exitcode})"
        write_error(run_folder(self.out, worker.run), text)
        seconds = time.monotonic() - worker.started
        self._workers[self._workers.index(worker)] = _new_worker()
        return RunOutcome(worker.run.name, seconds, text, failed=True)


def _kind(run: Run) -> tuple[str, str, int]:
    return run.task, run.method, run.n_obs


def _new_worker() -> _Worker:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Any, parent: int) -> None:
    """Perform the runs that arrive, until the connection closes or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills us
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    while True:
        try:
            run, folder = connection.recv()
        except EOFError:
            return
        connection.send(perform(run, folder))


def _exit_with(parent: int) -> None:
    """Exit when the parent process ends, as nobody would read the outcome."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
