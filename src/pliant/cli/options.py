"""The options and arguments of the commands, each with its help text and default."""

from functools import partial
from typing import Any

import typer

from pliant.cli.choices import DISCREPANCIES, FAMILIES, METHODS, listed, one_of
from pliant.cli.new import SIMULATORS

NO_VALUE = " "  # typer would write <bool> behind a flag


def option(metavar: str, text: str, default: str | None = None, **more: Any) -> Any:
    """An option with its default in words; more options are those of typer."""
    help_text = text if default is None else f"{text} [dim]Default: {default}.[/]"
    names = [f"--{more.pop('flag')}"] if "flag" in more else []
    return typer.Option(*names, help=help_text, metavar=metavar, show_default=False, **more)


def argument(metavar: str, text: str) -> Any:
    """An argument of a command."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


# the groups of the help
_problem, _method, _budget, _workers, _output = (
    partial(option, rich_help_panel=panel)
    for panel in ("Problem", "Method", "Budget", "Workers", "Output")
)

TARGET = argument(
    "TASK|FILE.py:NAME",
    "A built-in task (see [bold]pliant tasks[/]), or a problem of your own: NAME is a "
    "pliant.Problem in a Python file, or a function without arguments that returns one.",
)
RUN_FOLDER = argument("RUN", "The folder of a [bold]pliant run[/].")
SAVED_FOLDER = argument(
    "RUN", "The folder of a run, written by [bold]pliant run[/] or Result.save."
)

NEW_FILE = argument("FILE.py", "The file to write. An existing one is never replaced.")
SIMULATOR = _problem(
    "NAME",
    f"What the simulator is: {', '.join(f'{name} ({what})' for name, what in SIMULATORS.items())}.",
    "jax",
    callback=one_of("--simulator", SIMULATORS),
)

N_OBS = _problem("N", "Number of observations to simulate at the truth; for tasks only.", "100")
SEED = _problem("INTEGER", "Seed of a task's observations and of the run.", "0")
DIAGNOSIS_SEED = option("INTEGER", "Seed of the draws and simulations.", "0", flag="seed")
RERUNS = option(
    "N",
    "Run the whole method on this many sets that the posterior simulates, to see whether it is "
    "calibrated. The runs are kept in the folder, and are not made again.",
    "0",
    min=0,
)
RERUN_WORKERS = option("N", "Processes that make these runs.", "1", flag="workers", min=1)
FROM_FILE = _problem(
    "FILE.py:NAME",
    "The problem of the run, if its file has changed or moved since, or if the folder comes from "
    "someone else. Without it, only a file that a run of your own executed is executed again.",
    "the run's",
    flag="problem",
)

METHOD = _method(
    "NAME",
    f"{listed(METHODS)}: Pseudo-Likelihood Inference with a learned likelihood, with a distance "
    "between sets, which is not exact, or with the paper's settings, which take hours; a sampler "
    "of approximate Bayesian computation, which has no --family, --beta or --epsilon; or Automatic "
    "Posterior Transformation, which has no --discrepancy either.",
    "pli",
    callback=one_of("--method", METHODS),
)
DISCREPANCY = _method(
    "NAME",
    f"The distance between sets of data: {listed(DISCREPANCIES)}. The last two are learned "
    "from the simulations, and only pli has them.",
    "with pli likelihood-kl, of learned statistics if observations have more than 30 numbers; "
    "with others mmd",
    callback=one_of("--discrepancy", DISCREPANCIES),
)
FAMILY = _method(
    "NAME",
    f"The family of densities for the posterior: {listed(FAMILIES)}.",
    "spline-flow",
    callback=one_of("--family", FAMILIES),
)
ROUNDS = _method(
    "T", "Number of rounds.", "20; with rejection-abc 100; with other -abc 200; with apt 10"
)
N_PARTICLES = _method(
    "K",
    "Parameters to try per round.",
    "2000; with a distance between sets 5000; with -abc 1000",
)
N_DRAWS = _method(
    "M",
    "Simulations per parameter.",
    "20, or up to 200 with a JAX simulator; with a distance between sets the larger of N and 100; "
    "with pli-paper and -abc N",
)
BETA = _method(
    "NUMBER|calibrated",
    "The final bandwidth: a parameter at the distance D has the likelihood exp(-D / (2 beta)). "
    "With mmd and energy, calibrated finds it from the observations.",
    "0.5 / N; with a distance between sets 0.05 / N; with pli-paper 5e-4",
)
EPSILON = _method(
    "NATS",
    "Bound on the KL divergence between the posteriors of successive rounds.",
    "1.0; with pli-paper 0.5",
)

MAX_SIMULATIONS = _budget(
    "N",
    "Start no round that would exceed this number of simulations. pli fits the numbers of "
    "parameters and draws to it, unless they are given.",
    "no limit",
)
MAX_SECONDS = _budget("SECONDS", "End the run within a few seconds of this time.", "no limit")
NEW_MAX_SIMULATIONS = _budget("N", "A new limit on all simulations of the run.", "the run's")
NEW_MAX_SECONDS = _budget("SECONDS", "A new limit on the total time of the run.", "the run's")

DASK = _workers(
    "local|ADDRESS",
    "Run a Python function or a program on a Dask cluster: on this machine's cores, or by a "
    "scheduler such as tcp://host:8786.",
    "the simulator's own executor",
)

OUT = _output(
    "FOLDER",
    "The folder for the result, samples and plots.",
    "runs/TASK-SEED or runs/FILE-NAME-SEED",
)
REPORT = _output(
    NO_VALUE,
    "Show the run on a page in the browser while it goes on. At its end, diagnose it and write the "
    "page to report.html.",
    flag="report",
)
PORT = option("PORT", "Port of the server; 0 lets the system choose.", "0", min=0, max=65535)
WATCHED = argument(
    "RUN|GRID", "The folder of a [bold]pliant run[/] or of a [bold]pliant bench run[/]."
)
OVERWRITE = _output(NO_VALUE, "Replace a result in that folder.", flag="overwrite")
TRACEBACK = _output(NO_VALUE, "Show the Python traceback of an error.", flag="traceback")

N_SAMPLES = _output("N", "Number of samples of the posterior and of the exact one.", "10000")
