"""Perform the runs of a grid: those that are not finished, each in its own folder."""

from collections.abc import Callable
from pathlib import Path

from pliant._files import lock
from pliant.bench.folders import by_state, write_grid
from pliant.bench.grid import Grid
from pliant.bench.plan import Run
from pliant.bench.pool import AbstractPool
from pliant.bench.view import View
from pliant.run.folder import LOCK

_POLL = 0.5  # seconds


def run_grid(
    grid: Grid, out: Path, make_pool: Callable[[Path], AbstractPool], *, retry: bool = False
) -> dict[str, list[Run]]:
    """Perform what is not finished; whatever ends it, starting it again goes on from there.

    Args:
        grid: What to run.
        out: The folder for it; runs that are finished in it are not repeated.
        make_pool: Starts the workers, given that folder; only if there is something to do.
        retry: Whether runs that failed before are tried again.

    Returns:
        The grid's runs by how far they are.

    Raises:
        InUseError: If another process runs a grid in the folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    with lock(out / LOCK, out):
        write_grid(out, grid)
        before = by_state(out, grid.runs)
        waiting = before["begun"] + before["waiting"] + (before["failed"] if retry else [])
        failed = 0 if retry else len(before["failed"])
        if waiting:
            with (
                make_pool(out) as pool,
                View(waiting, len(before["finished"]), failed) as view,
            ):
                _perform(waiting, pool, view)
    return by_state(out, grid.runs)


def _perform(waiting: list[Run], pool: AbstractPool, view: View) -> None:
    left = len(waiting)
    while left:
        while (run := pool.start(waiting)) is not None:
            view.started(run)
        for outcome in pool.wait(_POLL):
            view.ended(outcome, pool.size)
            left -= 1
