"""The commands: ``new``, ``run``, ``resume``, ``show``, ``diagnose``, ``eval`` and others."""

from pathlib import Path
from typing import Annotated

import typer

import pliant
from pliant.cli import options
from pliant.cli.bench_commands import bench
from pliant.cli.choices import as_beta
from pliant.cli.errors import OneLineErrors, mistakes
from pliant.cli.report import quiet_status
from pliant.cli.target import folder_name

app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench, name="bench")


def main() -> None:
    """Run the command line; the entry point of ``pliant``."""
    app(prog_name="pliant")


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"pliant {pliant.__version__}")
        raise typer.Exit
    return wanted


_VERSION = options.option(
    options.NO_VALUE, "Print the version.", flag="version", callback=_print_version, is_eager=True
)


@app.callback(
    invoke_without_command=True,
    epilog="Start with:\n\n[bold]pliant run gaussian_mixture --out runs/first[/]",
)
def _pliant(
    context: typer.Context,
    version: Annotated[bool, _VERSION] = False,
) -> None:
    """Posteriors of a simulator's parameters from many observations at once."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    epilog="Examples:\n\n"
    "[bold]pliant run slcp --n-obs 100 --out runs/slcp[/]\n\n"
    "[bold]pliant run my_model.py:problem --family gaussian-mixture --max-seconds 600[/]\n\n"
    "Ctrl-C ends a run and saves the last finished round; [bold]pliant resume[/] resumes it. Exit "
    "codes: 0 finished, or ended short of the target by rounds, a budget, noise or too few "
    "acceptances; 1 failed; 2 a mistake in the command; 130 Ctrl-C."
)
def run(
    target: Annotated[str, options.TARGET],
    n_obs: Annotated[int | None, options.N_OBS] = None,
    seed: Annotated[int, options.SEED] = 0,
    method: Annotated[str, options.METHOD] = "pli",
    discrepancy: Annotated[str | None, options.DISCREPANCY] = None,
    family: Annotated[str | None, options.FAMILY] = None,
    rounds: Annotated[int | None, options.ROUNDS] = None,
    n_particles: Annotated[int | None, options.N_PARTICLES] = None,
    n_draws: Annotated[int | None, options.N_DRAWS] = None,
    beta: Annotated[str | None, options.BETA] = None,
    epsilon: Annotated[float | None, options.EPSILON] = None,
    max_simulations: Annotated[int | None, options.MAX_SIMULATIONS] = None,
    max_seconds: Annotated[float | None, options.MAX_SECONDS] = None,
    dask: Annotated[str | None, options.DASK] = None,
    out: Annotated[Path | None, options.OUT] = None,
    overwrite: Annotated[bool, options.OVERWRITE] = False,
    report: Annotated[bool, options.REPORT] = False,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Infer the posterior of a task or of a problem of your own, and save it in a folder."""
    method_options = {
        "discrepancy": discrepancy,
        "family": family,
        "rounds": rounds,
        "n_particles": n_particles,
        "n_draws": n_draws,
        "beta": as_beta(beta),
        "epsilon": epsilon,
    }
    budget = {"max_simulations": max_simulations, "max_seconds": max_seconds}
    given = {"n_obs": n_obs, "seed": seed, "method": method, **method_options, **budget}
    with mistakes(traceback=traceback), quiet_status():
        from pliant.cli.run import run_target

        code = run_target(
            target,
            Path("runs", folder_name(target, seed)) if out is None else out,
            n_obs=n_obs,
            seed=seed,
            method=method,
            options=method_options,
            budget=budget,
            dask=dask,
            given={name: value for name, value in given.items() if value is not None},
            overwrite=overwrite,
            report=report,
        )
    raise typer.Exit(code)


@app.command(
    epilog="Examples:\n\n[bold]pliant new my_model.py[/]\n\n"
    "[bold]pliant new my_model.py --simulator numpy[/]"
)
def new(
    file: Annotated[Path, options.NEW_FILE],
    simulator: Annotated[str, options.SIMULATOR] = "jax",
) -> None:
    """Write a commented template of a problem, which runs as it is."""
    with mistakes():
        from pliant.cli.new import write_template

        write_template(file, simulator)


@app.command(epilog="Example:\n\n[bold]pliant resume runs/slcp-0[/]")
def resume(
    folder: Annotated[Path, options.RUN_FOLDER],
    problem: Annotated[str | None, options.FROM_FILE] = None,
    max_simulations: Annotated[int | None, options.NEW_MAX_SIMULATIONS] = None,
    max_seconds: Annotated[float | None, options.NEW_MAX_SECONDS] = None,
    dask: Annotated[str | None, options.DASK] = None,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Resume a run that was interrupted or killed; the result is that of an uninterrupted run."""
    budget = {"max_simulations": max_simulations, "max_seconds": max_seconds}
    with mistakes(traceback=traceback), quiet_status():
        from pliant.cli.run import resume_target

        code = resume_target(folder, budget=budget, dask=dask, problem=problem)
    raise typer.Exit(code)


@app.command(epilog="Example:\n\n[bold]pliant show runs/slcp-0[/]")
def show(folder: Annotated[Path, options.SAVED_FOLDER]) -> None:
    """Print a saved run: its status, options, rounds and posterior."""
    with mistakes():
        from pliant.cli.show import print_run

        print_run(folder)


@app.command(
    "eval",
    epilog="Example:\n\n[bold]pliant eval runs/slcp-0[/]\n\n"
    "The noise floor is the score of an exact posterior: a value near its floor cannot be told "
    "from exact. With an exact posterior to compare with, this takes a few minutes.",
)
def evaluate(
    folder: Annotated[Path, options.RUN_FOLDER],
    problem: Annotated[str | None, options.FROM_FILE] = None,
    n_samples: Annotated[int, options.N_SAMPLES] = 10_000,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Score a saved run against the exact posterior, the truth and the data."""
    with mistakes(traceback=traceback):
        from pliant.cli.eval import evaluate_run

        code = evaluate_run(folder, n_samples=n_samples, problem=problem)
    raise typer.Exit(code)


@app.command(
    epilog="Example:\n\n[bold]pliant diagnose runs/slcp-0[/]\n\n"
    "Exit codes: 0 sound or doubtful; 1 unsound; 2 a mistake in the command; 130 Ctrl-C."
)
def diagnose(
    folder: Annotated[Path, options.RUN_FOLDER],
    problem: Annotated[str | None, options.FROM_FILE] = None,
    seed: Annotated[int, options.DIAGNOSIS_SEED] = 0,
    reruns: Annotated[int, options.RERUNS] = 0,
    workers: Annotated[int, options.RERUN_WORKERS] = 1,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Check whether a saved run can be trusted, and what its model does not explain."""
    with mistakes(traceback=traceback):
        from pliant.cli.diagnose import diagnose_run

        sizes = {"reruns": reruns, "workers": workers}
        code = diagnose_run(folder, seed=seed, problem=problem, **sizes)
    raise typer.Exit(code)


@app.command(
    epilog="Example:\n\n[bold]pliant report runs/slcp-0[/]\n\n"
    "Without a diagnosis of this result, makes one first, as [bold]pliant diagnose[/] does. "
    "A run that was started from Python needs --problem."
)
def report(
    folder: Annotated[Path, options.RUN_FOLDER],
    problem: Annotated[str | None, options.FROM_FILE] = None,
    seed: Annotated[int, options.DIAGNOSIS_SEED] = 0,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Write a page about a saved run, report.html: one file that opens in any browser."""
    with mistakes(traceback=traceback):
        from pliant.cli.write_report import report_run

        code = report_run(folder, seed=seed, problem=problem)
    raise typer.Exit(code)


@app.command(
    epilog="Examples:\n\n[bold]pliant watch runs/slcp-0[/]\n\n[bold]pliant watch bench/lite[/]\n\n"
    "The server answers to this machine only. Ctrl-C ends it; the run goes on."
)
def watch(
    folder: Annotated[Path, options.WATCHED],
    problem: Annotated[str | None, options.FROM_FILE] = None,
    port: Annotated[int, options.PORT] = 0,
    traceback: Annotated[bool, options.TRACEBACK] = False,
) -> None:
    """Show a run, or a grid of runs, on a page in the browser that follows it."""
    with mistakes(traceback=traceback):
        from pliant.cli.watch import watch_folder

        code = watch_folder(folder, port=port, problem=problem)
    raise typer.Exit(code)


@app.command(epilog="Example:\n\n[bold]pliant run sir --n-obs 20[/]")
def tasks() -> None:
    """List the built-in tasks: simulators with a known truth and mostly exact posteriors."""
    with mistakes():
        from pliant.cli.tasks import print_tasks

        print_tasks()
