"""The options and arguments of the commands, each with its help text and default."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.choices import DISCREPANCIES, FAMILIES, METHODS, listed, one_of

_PROBLEM, _METHOD, _BUDGET, _WORKERS, _OUTPUT = "Problem", "Method", "Budget", "Workers", "Output"
_NO_VALUE = " "  # typer would write <bool> behind a flag


def _option(panel: str, metavar: str, text: str, default: str | None = None, **more: Any) -> Any:
    """An option in a group of the help, with its default in words."""
    help_text = text if default is None else f"{text} [dim]Default: {default}.[/]"
    names = [f"--{more.pop('flag')}"] if "flag" in more else []
    return typer.Option(
        *names, help=help_text, metavar=metavar, rich_help_panel=panel, show_default=False, **more
    )


def _folder(text: str) -> Any:
    return typer.Argument(metavar="RUN", help=text, show_default=False)


Target = Annotated[
    str,
    typer.Argument(
        metavar="TASK|FILE.py:NAME",
        help="A built-in task (see [bold]pliant tasks[/]), or a problem of your own: NAME is a "
        "pliant.Problem in a Python file, or a function without arguments that returns one.",
        show_default=False,
    ),
]
RunFolder = Annotated[Path, _folder("The folder of a [bold]pliant run[/].")]
SavedFolder = Annotated[
    Path, _folder("The folder of a run, written by [bold]pliant run[/] or Result.save.")
]

NObs = Annotated[
    int | None,
    _option(
        _PROBLEM, "N", "Number of observations to simulate at the truth; for tasks only.", "100"
    ),
]
Seed = Annotated[
    int, _option(_PROBLEM, "INTEGER", "Seed of a task's observations and of the run.", "0")
]

Method = Annotated[
    str,
    _option(
        _METHOD,
        "NAME",
        f"{listed(METHODS)}: Pseudo-Likelihood Inference with fast settings, with a learned "
        "likelihood, or with the paper's settings, which take hours; a sampler of approximate "
        "Bayesian computation, which has no --family, --beta or --epsilon; or Automatic Posterior "
        "Transformation, which has no --discrepancy either.",
        "pli",
        callback=one_of("--method", METHODS),
    ),
]
Discrepancy = Annotated[
    str | None,
    _option(
        _METHOD,
        "NAME",
        f"The distance between sets of data: {listed(DISCREPANCIES)}. The last two are learned "
        "from the simulations, and only pli has them.",
        "mmd; with pli-accurate likelihood-kl",
        callback=one_of("--discrepancy", DISCREPANCIES),
    ),
]
Family = Annotated[
    str | None,
    _option(
        _METHOD,
        "NAME",
        f"The family of densities for the posterior: {listed(FAMILIES)}.",
        "spline-flow",
        callback=one_of("--family", FAMILIES),
    ),
]
Rounds = Annotated[
    int | None,
    _option(
        _METHOD,
        "T",
        "Number of rounds.",
        "20; with rejection-abc 100; with other -abc 200; with apt 10",
    ),
]
NParticles = Annotated[
    int | None,
    _option(
        _METHOD,
        "K",
        "Parameters to try per round.",
        "5000; with -abc 1000; with a learned distance and apt 2000",
    ),
]
NDraws = Annotated[
    int | None,
    _option(
        _METHOD,
        "M",
        "Simulations per parameter.",
        "the larger of N and 100; with a learned distance 20; with pli-paper and -abc N",
    ),
]
Beta = Annotated[
    str | None,
    _option(
        _METHOD,
        "NUMBER|calibrated",
        "The final bandwidth: a parameter at the distance D has the likelihood exp(-D / (2 beta)). "
        "With mmd and energy, calibrated finds it from the observations.",
        "0.05 / N; with a learned distance 0.5 / N; with pli-paper 5e-4",
    ),
]
Epsilon = Annotated[
    float | None,
    _option(
        _METHOD,
        "NATS",
        "Bound on the KL divergence between the posteriors of successive rounds.",
        "1.0; with pli-paper 0.5",
    ),
]

MaxSimulations = Annotated[
    int | None,
    _option(
        _BUDGET,
        "N",
        "Start no round that would exceed this number of simulations. pli fits the numbers of "
        "parameters and draws to it, unless they are given.",
        "no limit",
    ),
]
MaxSeconds = Annotated[
    float | None, _option(_BUDGET, "SECONDS", "Start no round after this time.", "no limit")
]
NewMaxSimulations = Annotated[
    int | None,
    _option(_BUDGET, "N", "A new limit on all simulations of the run.", "the run's"),
]
NewMaxSeconds = Annotated[
    float | None,
    _option(_BUDGET, "SECONDS", "A new limit on the total time of the run.", "the run's"),
]

Dask = Annotated[
    str | None,
    _option(
        _WORKERS,
        "local|ADDRESS",
        "Run a Python function or a program on a Dask cluster: on this machine's cores, or by a "
        "scheduler such as tcp://host:8786.",
        "the simulator's own executor",
    ),
]

Out = Annotated[
    Path | None,
    _option(
        _OUTPUT,
        "FOLDER",
        "The folder for the result, samples and plots.",
        "runs/TASK-SEED or runs/FILE-NAME-SEED",
    ),
]
Overwrite = Annotated[
    bool, _option(_OUTPUT, _NO_VALUE, "Replace a result in that folder.", flag="overwrite")
]
Traceback = Annotated[
    bool, _option(_OUTPUT, _NO_VALUE, "Show the Python traceback of an error.", flag="traceback")
]

NSamples = Annotated[
    int,
    _option(_OUTPUT, "N", "Number of samples of the posterior and of the exact one.", "10000"),
]
