"""The commands ``pliant bench run``, ``status``, ``collect`` and ``figures``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.errors import OneLineErrors, UserError, mistakes

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


def _option(metavar: str, text: str, **more: Any) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=False, **more)


_Out = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="The folder of a [bold]pliant bench run[/].", show_default=False
    ),
]


@bench.command(
    epilog="Examples:\n\n"
    "[bold]pliant bench run smoke --out bench/smoke[/]\n\n"
    "[bold]pliant bench run my_grid.toml --out bench/mine --workers 2[/]\n\n"
    "Finished runs are not repeated: after Ctrl-C or a crash, run the same command to resume. "
    "Exit codes: 0 all runs finished; 1 some failed; 2 a mistake in the command or the grid; "
    "130 Ctrl-C."
)
def run(
    grid: Annotated[
        str,
        typer.Argument(
            metavar="GRID",
            help="A TOML file, or a grid that comes with Pliant: paper, lite or smoke.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        _option("FOLDER", "The folder for the runs. [dim]Default: bench/GRID.[/]"),
    ] = None,
    workers: Annotated[
        int | None,
        _option(
            "N",
            "Number of runs at a time, each in its own process, which may use several cores. "
            "[dim]Default: half the number of cores.[/]",
            min=1,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        _option(
            "local|ADDRESS",
            "Perform the runs on a Dask cluster: on this machine's cores, or by a scheduler "
            "such as tcp://host:8786, whose workers must see the same folder.",
        ),
    ] = None,
    retry: Annotated[bool, _option(" ", "Retry failed runs.")] = False,
) -> None:
    """Perform the unfinished runs of a grid."""
    if workers is not None and dask is not None:
        raise UserError("--workers: cannot be combined with --dask, which has its own workers.")
    with mistakes():
        from pliant.cli.bench import run_bench

        code = run_bench(grid, out, workers=workers, dask=dask, retry=retry)
    raise typer.Exit(code)


@bench.command(epilog="Example:\n\n[bold]pliant bench status bench/lite[/]")
def status(folder: _Out) -> None:
    """Print how many runs are finished, and why runs failed."""
    with mistakes():
        from pliant.cli.bench import print_bench_status

        print_bench_status(folder)


@bench.command(epilog="Example:\n\n[bold]pliant bench collect bench/lite[/]")
def collect(folder: _Out) -> None:
    """Write a table of all finished runs, and one of means with 95 % intervals."""
    with mistakes():
        from pliant.cli.bench import collect_bench

        collect_bench(folder)


@bench.command(epilog="Example:\n\n[bold]pliant bench figures bench/lite[/]")
def figures(folder: _Out) -> None:
    """Draw the paper's figures from the finished runs."""
    with mistakes():
        from pliant.cli.bench import draw_bench

        draw_bench(folder)
