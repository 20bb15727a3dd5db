"""The commands ``run``, ``resume``, ``show``, ``eval``, ``tasks`` and ``bench``."""

from pathlib import Path
from typing import Annotated, Any

import typer

import pliant
from pliant.cli.bench_commands import bench
from pliant.cli.choices import DISCREPANCIES, FAMILIES, METHODS, as_beta, listed, one_of
from pliant.cli.errors import OneLineErrors, mistakes
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


_NO_VALUE = " "  # typer would write <bool> behind a flag


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"pliant {pliant.__version__}")
        raise typer.Exit
    return wanted


@app.callback(
    invoke_without_command=True,
    epilog="Start with:\n\n[bold]pliant run gaussian_mixture --out runs/first[/]",
)
def _pliant(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar=_NO_VALUE,
            help="Print the version.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Posteriors of a simulator's parameters from many observations at once."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _option(panel: str, metavar: str, text: str, default: str | None = None, **more: Any) -> Any:
    """An option whose default is explained in words, in a group of the help."""
    help_text = text if default is None else f"{text} [dim]Default: {default}.[/]"
    names = [f"--{more.pop('flag')}"] if "flag" in more else []
    return typer.Option(
        *names, help=help_text, metavar=metavar, rich_help_panel=panel, show_default=False, **more
    )


_PROBLEM, _METHOD, _BUDGET, _WORKERS, _OUTPUT = "Problem", "Method", "Budget", "Workers", "Output"
_METRICS = "Options"


_Dask = Annotated[
    str | None,
    _option(
        _WORKERS,
        "local|ADDRESS",
        "Make the draws of a Python function or a program on a Dask cluster: on this machine's "
        "cores, or by a scheduler such as tcp://host:8786.",
        "as the simulator says",
    ),
]


@app.command(
    epilog="Examples:\n\n"
    "[bold]pliant run slcp --n-obs 100 --out runs/slcp[/]\n\n"
    "[bold]pliant run my_model.py:problem --family gaussian-mixture --max-seconds 600[/]\n\n"
    "Ctrl-C ends a run and saves its last finished round; [bold]pliant resume[/] goes on. Exit "
    "codes: 0 finished, or stopped by a budget, by noise, or by too few acceptances; 1 failed; 2 a "
    "mistake in the command; 130 Ctrl-C."
)
def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TASK|FILE.py:NAME",
            help="A built-in task (see [bold]pliant tasks[/]), or a problem of your own: NAME is a "
            "pliant.Problem in a Python file, or a function without arguments that returns one.",
            show_default=False,
        ),
    ],
    n_obs: Annotated[
        int | None,
        _option(_PROBLEM, "N", "Observations to simulate at the truth; for tasks only.", "100"),
    ] = None,
    seed: Annotated[
        int,
        _option(_PROBLEM, "INTEGER", "Of a task's observations, and of the run.", "0"),
    ] = 0,
    method: Annotated[
        str,
        _option(
            _METHOD,
            "NAME",
            f"{listed(METHODS)}: Pseudo-Likelihood Inference with fast settings, with a learned "
            "likelihood, or with the paper's settings, which take hours; a sampler of "
            "approximate Bayesian computation, which has no --family, --beta or --epsilon; or "
            "Automatic Posterior Transformation, which has no --discrepancy either.",
            "pli",
            callback=one_of("--method", METHODS),
        ),
    ] = "pli",
    discrepancy: Annotated[
        str | None,
        _option(
            _METHOD,
            "NAME",
            f"The distance between sets of data: {listed(DISCREPANCIES)}. The last two are "
            "learned from the simulations, for pli alone.",
            "mmd; with pli-accurate likelihood-kl",
            callback=one_of("--discrepancy", DISCREPANCIES),
        ),
    ] = None,
    family: Annotated[
        str | None,
        _option(
            _METHOD,
            "NAME",
            f"What the posterior can be: {listed(FAMILIES)}.",
            "spline-flow",
            callback=one_of("--family", FAMILIES),
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        _option(
            _METHOD, "T", "Rounds.", "20; with rejection-abc 100; with other -abc 200; with apt 10"
        ),
    ] = None,
    n_particles: Annotated[
        int | None,
        _option(
            _METHOD,
            "K",
            "Parameters to try in each round.",
            "5000; with -abc 1000; with a learned distance and apt 2000",
        ),
    ] = None,
    n_draws: Annotated[
        int | None,
        _option(
            _METHOD,
            "M",
            "Simulations with each parameter.",
            "the larger of N and 100; with a learned distance 20; with pli-paper and -abc N",
        ),
    ] = None,
    beta: Annotated[
        str | None,
        _option(
            _METHOD,
            "NUMBER|calibrated",
            "The bandwidth that the rounds come down to: parameters at the distance D then have "
            "the likelihood exp(-D / (2 beta)). Or calibrated: found from the observations, with "
            "mmd and energy.",
            "0.05 / N; with a learned distance 0.5 / N; with pli-paper 5e-4",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        _option(
            _METHOD,
            "NATS",
            "The most KL divergence from one round's posterior to the next.",
            "1.0; with pli-paper 0.5",
        ),
    ] = None,
    max_simulations: Annotated[
        int | None,
        _option(
            _BUDGET,
            "N",
            "Begin no round that would exceed so many simulations. pli fits its numbers of "
            "parameters and draws to it, unless they are given.",
            "no limit",
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        _option(_BUDGET, "SECONDS", "Begin no round after this time.", "no limit"),
    ] = None,
    dask: _Dask = None,
    out: Annotated[
        Path | None,
        _option(
            _OUTPUT,
            "FOLDER",
            "For the result, samples and pictures.",
            "runs/TASK-SEED or runs/FILE-NAME-SEED",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        _option(_OUTPUT, _NO_VALUE, "Replace a result in that folder.", flag="overwrite"),
    ] = False,
    traceback: Annotated[
        bool,
        _option(_OUTPUT, _NO_VALUE, "Show where in Python an error came from.", flag="traceback"),
    ] = False,
) -> None:
    """Find the posterior of a task, or of a problem of your own, and save it in a folder."""
    options = {
        "discrepancy": discrepancy,
        "family": family,
        "rounds": rounds,
        "n_particles": n_particles,
        "n_draws": n_draws,
        "beta": as_beta(beta),
        "epsilon": epsilon,
    }
    budget = {"max_simulations": max_simulations, "max_seconds": max_seconds}
    given = {"n_obs": n_obs, "seed": seed, "method": method, **options, **budget}
    with mistakes(traceback=traceback):
        from pliant.cli.run import run_target

        code = run_target(
            target,
            Path("runs", folder_name(target, seed)) if out is None else out,
            n_obs=n_obs,
            seed=seed,
            method=method,
            options=options,
            budget=budget,
            dask=dask,
            given={name: value for name, value in given.items() if value is not None},
            overwrite=overwrite,
        )
    raise typer.Exit(code)


@app.command(epilog="Example:\n\n[bold]pliant resume runs/slcp-0[/]")
def resume(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a [bold]pliant run[/].", show_default=False
        ),
    ],
    max_simulations: Annotated[
        int | None,
        _option(_BUDGET, "N", "A new limit for all simulations of the run.", "the run's"),
    ] = None,
    max_seconds: Annotated[
        float | None,
        _option(_BUDGET, "SECONDS", "A new limit for the time of all its parts.", "the run's"),
    ] = None,
    dask: _Dask = None,
    traceback: Annotated[
        bool,
        _option(_OUTPUT, _NO_VALUE, "Show where in Python an error came from.", flag="traceback"),
    ] = False,
) -> None:
    """Go on with a run that was ended or killed, as if nothing had happened."""
    budget = {"max_simulations": max_simulations, "max_seconds": max_seconds}
    with mistakes(traceback=traceback):
        from pliant.cli.run import resume_target

        code = resume_target(folder, budget=budget, dask=dask)
    raise typer.Exit(code)


@app.command(epilog="Example:\n\n[bold]pliant show runs/slcp-0[/]")
def show(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, of [bold]pliant run[/] or of Result.save.",
            show_default=False,
        ),
    ],
) -> None:
    """Print how a saved run ended, its options, its rounds and its posterior."""
    with mistakes():
        from pliant.cli.show import print_run

        print_run(folder)


@app.command(
    "eval",
    epilog="Example:\n\n[bold]pliant eval runs/slcp-0[/]\n\n"
    "The noise floor is what an exact posterior would score: a value near its floor cannot be told "
    "from exact. With an exact posterior to compare with, this takes a few minutes.",
)
def evaluate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a [bold]pliant run[/].", show_default=False
        ),
    ],
    n_samples: Annotated[
        int,
        _option(_METRICS, "N", "Samples of the posterior, and of the exact one.", "10000"),
    ] = 10_000,
    traceback: Annotated[
        bool,
        _option(_METRICS, _NO_VALUE, "Show where in Python an error came from.", flag="traceback"),
    ] = False,
) -> None:
    """Score a saved run against the exact posterior, the truth and the data."""
    with mistakes(traceback=traceback):
        from pliant.cli.eval import evaluate_run

        code = evaluate_run(folder, n_samples=n_samples)
    raise typer.Exit(code)


@app.command(epilog="Example:\n\n[bold]pliant run sir --n-obs 20[/]")
def tasks() -> None:
    """List the built-in tasks: simulators with known truths, and mostly exact posteriors."""
    from pliant.cli.tasks import print_tasks

    print_tasks()
