"""Perform the unfinished runs of a grid."""

from collections.abc import Callable
from pathlib import Path

from pliant._files import lock
from pliant.bench.display import GridDisplay
from pliant.bench.folders import by_state, write_grid
from pliant.bench.known import take_over
from pliant.bench.plan import Grid, Run
from pliant.bench.pool import AbstractPool
from pliant.run.folder import LOCK

_POLL = 0.5  # seconds


def run_grid(
    grid: Grid,
    out: Path,
    make_pool: Callable[[Path], AbstractPool],
    *,
    retry: bool = False,
    known: Path | None = None,
) -> dict[str, list[Run]]:
    """Perform the runs that are not finished in the folder ``out``, and return those by state.

    If interrupted, call it again to resume. ``make_pool`` starts the workers; it is called with
    the folder, and only if a run is left to do. Runs of the table ``known`` count as finished.
    Only one process at a time may use the folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    with lock(out / LOCK, out):
        write_grid(out, grid)
        if known is not None:
            take_over(out, grid, known)
        before = by_state(out, grid.runs)
        waiting = before["begun"] + before["waiting"] + (before["failed"] if retry else [])
        failed = 0 if retry else len(before["failed"])
        if waiting:
            display = GridDisplay(waiting, len(before["finished"]), failed)
            with make_pool(out) as pool, display:
                _perform(waiting, pool, display)
    return by_state(out, grid.runs)


def _perform(waiting: list[Run], pool: AbstractPool, display: GridDisplay) -> None:
    left = len(waiting)
    while left:
        while (run := pool.start(waiting)) is not None:
            display.started(run)
        for outcome in pool.wait(_POLL):
            display.ended(outcome, pool.size)
            left -= 1
