"""``pliant show``: print a saved run."""

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
    """Print the status, the final check, the options that differ from defaults, and the result."""
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
    say(out, f"{what}, {run.method}({changed})")
    if run.reason:
        say(out, run.reason)
    out.print()
    print_history(out, run.history)
    print_failures(out, run.failures)
    out.print()
    print_summary(out, run.samples, run.config.get("truth", {}))
    out.print()
    print_files(out, folder)
