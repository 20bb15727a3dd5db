"""``pliant bench``: run a grid, show its state, and write its tables and figures."""

import os
from pathlib import Path

import typer
from rich.console import Console

from pliant.cli.dask import connect
from pliant.cli.errors import UserError
from pliant.cli.report import console, counted, print_table, say

_INTERRUPTED = 130


def run_bench(
    source: str,
    out: Path | None,
    *,
    workers: int | None,
    dask: str | None,
    retry: bool,
    known: Path | None,
) -> int:
    """Perform the runs of a grid, and return the exit code.

    ``out`` is by default named after the grid, and ``workers`` is half the number of cores.
    ``known`` is a table with runs that are not repeated.
    """
    with Console(stderr=True).status("loading"):
        from pliant.bench.cluster import DaskPool
        from pliant.bench.pool import AbstractPool
        from pliant.bench.processes import ProcessPool
        from pliant.bench.run import run_grid
        from pliant.cli.grid import read_grid

        grid = read_grid(source)
    folder = Path("bench", Path(source).stem) if out is None else out
    size = max(1, (os.cpu_count() or 1) // 2) if workers is None else workers

    def make_pool(path: Path) -> AbstractPool:
        return ProcessPool(path, size) if dask is None else DaskPool(path, *connect(dask))

    say(console(), f"{grid.name}: {counted(len(grid.runs), 'run')}, in {folder}/")
    try:
        states = run_grid(grid, folder, make_pool, retry=retry, known=known)
    except KeyboardInterrupt:
        typer.echo("Interrupted. Run the same command again to resume.", err=True)
        return _INTERRUPTED
    numbers = {state: len(runs) for state, runs in states.items()}
    to_do = numbers["begun"] + numbers["waiting"]
    say(console(), closing_line(numbers["finished"], numbers["failed"], to_do))
    if numbers["failed"]:
        print_bench_status(folder)
    return 1 if numbers["failed"] else 0


def closing_line(finished: int, failed: int, waiting: int) -> str:
    """The number of runs in each state, in words."""
    parts = [counted(finished, "run") + " finished"]
    parts += [f"{failed} failed"] * bool(failed) + [f"{waiting} to do"] * bool(waiting)
    return ", ".join(parts) + "."


def print_bench_status(folder: Path) -> None:
    """Print one line per task and method, and the errors of failed runs."""
    from pliant.bench.folders import STATES, by_state, read_error, run_folder
    from pliant.cli.grid import read_grid_of

    grid = read_grid_of(folder)
    states = by_state(folder, grid.runs)
    kinds = dict.fromkeys((run.experiment, run.task, run.method) for run in grid.runs)
    rows = []
    for kind in kinds:
        counts = [
            sum((run.experiment, run.task, run.method) == kind for run in states[state])
            for state in STATES
        ]
        rows.append([*kind, *(str(count) if count else "-" for count in counts)])
    rows.append(["all", "", "", *(str(len(states[state])) for state in STATES)])
    out = console()
    heads = ["experiment", "task", "method", *STATES]
    print_table(out, heads, rows, right=range(3, len(heads)))
    for run in states["failed"]:
        say(out, f"{run.name}: {read_error(run_folder(folder, run))}")
    if states["failed"]:
        say(out, "pliant bench run ... --retry retries the failed runs.")


def collect_bench(folder: Path) -> None:
    """Write the tables of the finished runs; pyarrow is needed."""
    from pliant.bench.collect import rows_of, write_tables
    from pliant.cli.grid import read_grid_of

    grid = read_grid_of(folder)
    rows = rows_of(folder, grid)
    if not rows:
        raise UserError(f"{folder}: no run is finished yet.")
    out = console()
    runs = len({row["run"] for row in rows})
    say(out, f"{runs} of {counted(len(grid.runs), 'run')}:")
    for path in write_tables(folder, rows):
        say(out, f"  {path}")


def draw_bench(folder: Path) -> None:
    """Draw the figures whose runs are finished, and print which runs the others need."""
    from pliant.bench.figures import draw_figures
    from pliant.cli.grid import read_grid_of

    out = console()
    for figure in draw_figures(folder, read_grid_of(folder)):
        if figure.wanted is None:
            say(out, f"{figure.name}: {', '.join(map(str, figure.paths))}")
        else:
            say(out, f"{figure.name}: skipped, as it needs finished runs {figure.wanted}.")
