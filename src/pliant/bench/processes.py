"""Worker processes of this machine, each of which performs one run after another."""

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
from pliant.bench.perform import Outcome, perform
from pliant.bench.plan import Run
from pliant.bench.pool import AbstractPool

_SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang


@dataclass
class _Worker:
    process: BaseProcess
    connection: Any
    """Our end of the pipe."""
    run: Run | None = None
    kind: tuple[str, str, int] | None = None
    """Of its last run: another one of the same kind needs no compiling."""
    started: float = 0.0


class Processes(AbstractPool):
    """A worker that dies fails its run, and another takes its place.

    Args:
        out: The folder of the grid.
        size: How many workers.
    """

    def __init__(self, out: Path, size: int):
        super().__init__(out)
        self._workers = [_new_worker() for _ in range(size)]

    @property
    def size(self) -> int:
        """As many as were asked for."""
        return len(self._workers)

    def start(self, waiting: list[Run]) -> Run | None:
        """A worker gets a run like its last one, or else one that no other is busy with."""
        worker = next((worker for worker in self._workers if worker.run is None), None)
        if worker is None or not waiting:
            return None
        busy = {other.kind for other in self._workers if other is not worker}
        run = min(waiting, key=lambda run: (_kind(run) != worker.kind, _kind(run) in busy))
        waiting.remove(run)
        worker.run, worker.kind, worker.started = run, _kind(run), time.monotonic()
        worker.connection.send((run, run_folder(self.out, run)))
        return run

    def wait(self, seconds: float) -> list[Outcome]:
        """What workers answered; and the runs of those that died."""
        outcomes = []
        busy = {worker.connection: worker for worker in self._workers if worker.run is not None}
        for connection in wait(list(busy), timeout=seconds):
            worker = busy[connection]
            try:
                outcomes.append(worker.connection.recv())
                worker.run = None
            except (EOFError, OSError):  # the latter if it died before it read its run
                outcomes.append(self._buried(worker))
        return outcomes

    def close(self) -> None:
        """Kill them: every file is whole or absent, and a run goes on from its last round."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.connection.close()

    def _buried(self, worker: _Worker) -> Outcome:
        worker.process.join()
        assert worker.run is not None
        text = f"the worker process died (exit code {worker.process.exitcode})"
        write_error(run_folder(self.out, worker.run), text)
        seconds = time.monotonic() - worker.started
        self._workers[self._workers.index(worker)] = _new_worker()
        return Outcome(worker.run.name, seconds, text, failed=True)


def _kind(run: Run) -> tuple[str, str, int]:
    return run.task, run.method, run.n_obs


def _new_worker() -> _Worker:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Any, parent: int) -> None:
    """Perform what comes through the connection, until it or the parent is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills us
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            run, folder = connection.recv()
        except EOFError:
            return
        connection.send(perform(run, folder))


def _end_with(parent: int) -> None:
    """End this process when its parent does: nobody would read its answer."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
