"""The commands ``pliant bench run``, ``status``, ``collect`` and ``figures``."""

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.errors import OneLineErrors, UserError, mistakes
from pliant.cli.options import NO_VALUE, argument, option

bench = typer.Typer(
    cls=OneLineErrors,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@bench.callback(invoke_without_command=True)
def _bench(context: typer.Context) -> None:
    """Run the paper's experiments: a grid of runs, their table, and figures."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_GRID = argument(
    "GRID", "A TOML file, or a grid that comes with Pliant: paper, replication, lite or smoke."
)
_FOLDER = argument("FOLDER", "The folder of a [bold]pliant bench run[/].")
_OUT = option("FOLDER", "The folder for the runs.", "bench/GRID")
_WORKERS = option(
    "N",
    "Number of runs at a time, each in its own process, which may use several cores.",
    "half the number of cores",
    min=1,
)
_DASK = option(
    "local|ADDRESS",
    "Perform the runs on a Dask cluster: on this machine's cores, or by a scheduler such as "
    "tcp://host:8786, whose workers must see the same folder.",
)
_RETRY = option(NO_VALUE, "Retry failed runs.")
_KNOWN = option(
    "TABLE",
    "A table.csv of an earlier [bold]pliant bench collect[/], on any machine: its runs count as "
    "finished, with their metrics but without samples.",
)


@bench.command(
    epilog="Examples:\n\n"
    "[bold]pliant bench run smoke --out bench/smoke[/]\n\n"
    "[bold]pliant bench run my_grid.toml --out bench/mine --workers 2[/]\n\n"
    "Finished runs are not repeated: after Ctrl-C or a crash, run the same command to resume. "
    "Exit codes: 0 all runs finished; 1 some failed; 2 a mistake in the command or the grid; "
    "130 Ctrl-C."
)
def run(
    grid: Annotated[str, _GRID],
    out: Annotated[Path | None, _OUT] = None,
    workers: Annotated[int | None, _WORKERS] = None,
    dask: Annotated[str | None, _DASK] = None,
    retry: Annotated[bool, _RETRY] = False,
    known: Annotated[Path | None, _KNOWN] = None,
) -> None:
    """Perform the unfinished runs of a grid."""
    if workers is not None and dask is not None:
        raise UserError("--workers: cannot be combined with --dask, which has its own workers.")
    with mistakes():
        from pliant.cli.bench import run_bench

        code = run_bench(grid, out, workers=workers, dask=dask, retry=retry, known=known)
    raise typer.Exit(code)


@bench.command(epilog="Example:\n\n[bold]pliant bench status bench/lite[/]")
def status(folder: Annotated[Path, _FOLDER]) -> None:
    """Print how many runs are finished, and why runs failed."""
    with mistakes():
        from pliant.cli.bench import print_bench_status

        print_bench_status(folder)


@bench.command(epilog="Example:\n\n[bold]pliant bench collect bench/lite[/]")
def collect(folder: Annotated[Path, _FOLDER]) -> None:
    """Write a table of all finished runs, and one of means with 95 % intervals."""
    with mistakes():
        from pliant.cli.bench import collect_bench

        collect_bench(folder)


@bench.command(epilog="Example:\n\n[bold]pliant bench figures bench/lite[/]")
def figures(folder: Annotated[Path, _FOLDER]) -> None:
    """Draw the paper's figures from the finished runs."""
    with mistakes():
        from pliant.cli.bench import draw_bench

        draw_bench(folder)
