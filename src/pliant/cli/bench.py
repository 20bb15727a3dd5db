"""``pliant bench``: a grid of runs, how far it is, its table, and its figures."""

import os
from pathlib import Path

import typer
from rich.console import Console

from pliant.cli.errors import UserError
from pliant.cli.report import console, counted, print_table, say

_INTERRUPTED = 130


def run_bench(
    source: str, out: Path | None, *, workers: int | None, dask: str | None, retry: bool
) -> int:
    """Perform the runs of a grid.

    Args:
        source: A file, or the name of a shipped grid.
        out: The folder for the runs; None for one that is named after the grid.
        workers: How many processes; None for half of the cores.
        dask: "local" or the address of a scheduler; None for processes.
        retry: Whether to try failed runs again.

    Returns:
        The exit code.

    Raises:
        GridError, UserError, ImportError, InUseError: Before anything runs.
    """
    with Console(stderr=True).status("loading"):
        from pliant.bench.cluster import Cluster
        from pliant.bench.grid import read_grid
        from pliant.bench.processes import Processes
        from pliant.bench.run import run_grid
        from pliant.bench.view import closing_line

        grid = read_grid(source)
    folder = Path("bench", Path(source).stem) if out is None else out
    size = max(1, (os.cpu_count() or 1) // 2) if workers is None else workers
    say(console(), f"{grid.name}: {counted(len(grid.runs), 'run')}, in {folder}/")
    try:
        states = run_grid(
            grid,
            folder,
            lambda path: Processes(path, size) if dask is None else Cluster(path, dask),
            retry=retry,
        )
    except KeyboardInterrupt:
        typer.echo("Interrupted: the same command goes on from here.", err=True)
        return _INTERRUPTED
    numbers = {state: len(runs) for state, runs in states.items()}
    to_do = numbers["begun"] + numbers["waiting"]
    say(console(), closing_line(numbers["finished"], numbers["failed"], to_do))
    if numbers["failed"]:
        print_bench_status(folder)
    return 1 if numbers["failed"] else 0


def print_bench_status(folder: Path) -> None:
    """Print a line for every task and method, and the errors."""
    from pliant.bench.folders import STATES, by_state, read_error, read_grid_of, run_folder

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
        say(out, "pliant bench run ... --retry tries failed runs again.")


def collect_bench(folder: Path) -> None:
    """Write the tables of the finished runs.

    Raises:
        UserError: If there are none.
        ImportError: If pyarrow is not installed.
    """
    from pliant.bench.collect import rows_of, write_tables
    from pliant.bench.folders import read_grid_of

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
    """Draw the figures that the finished runs allow, and say what others want.

    Raises:
        UserError: If there is no grid.
    """
    from pliant.bench.figures import draw_figures
    from pliant.bench.folders import read_grid_of

    out = console()
    for drawn in draw_figures(folder, read_grid_of(folder)):
        if drawn.wanted is None:
            say(out, f"{drawn.name}: {', '.join(map(str, drawn.paths))}")
        else:
            say(out, f"{drawn.name}: skipped, as it wants finished runs {drawn.wanted}.")
