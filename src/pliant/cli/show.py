"""``pliant show``: a saved run on the terminal."""

from pathlib import Path

from pliant.cli.report import (
    console,
    counted,
    print_failures,
    print_files,
    print_history,
    print_status,
    print_summary,
    say,
)
from pliant.cli.saved import read_run


def print_run(folder: Path) -> None:
    """Print status, final check, options that differ from the defaults, history and posterior.

    Raises:
        UserError, ValueError: If the folder holds no run, or a damaged one.
    """
    run = read_run(folder)
    out = console()
    print_status(out, run.status, run.message)
    if run.check is not None:
        say(out, run.check)
    if run.config:
        n_obs = counted(run.config["n_obs"], "observation")
        what = f"{run.config['target']}: {n_obs}, seed {run.seed}"
    else:
        what = f"seed {run.seed}"
    changed = ", ".join(f"{name}={value}" for name, value in run.changed.items())
    say(out, f"{what}, {run.method}({changed})\n")
    print_history(out, run.history)
    print_failures(out, run.failures)
    out.print()
    print_summary(out, run.samples, run.config.get("truth", {}))
    out.print()
    print_files(out, folder)
