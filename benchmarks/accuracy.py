"""How near the posteriors come to the exact ones: ``python benchmarks/accuracy.py [--help]``.

Runs each method on each task for several numbers of observations and seeds, through the
``pliant`` command, and writes the metrics of all runs to ``benchmarks/accuracy.md``. Runs are
kept in a folder, and those that are there already are not repeated: it can be interrupted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TASKS = ("gaussian_location", "gaussian_mixture", "slcp", "sir", "furuta")
METHODS = {
    "PLI-MMD": ("--discrepancy", "mmd", "--n-params", "2000"),
    "PLI-W": ("--discrepancy", "wasserstein", "--n-params", "2000"),
}
PAGE = Path(__file__).with_suffix(".md")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/accuracy"), help="folder of runs")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--n-obs", nargs="+", type=int, default=[2, 100, 10, 1])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--no-runs", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    if not arguments.no_runs:
        for seed in arguments.seeds:
            for n_obs in arguments.n_obs:
                for task in arguments.tasks:
                    for method in arguments.methods:
                        run(arguments.runs, task, method, n_obs, seed)
    PAGE.write_text(page(arguments.runs))


def run(runs, task, method, n_obs, seed):
    """One run and its metrics, unless they are there."""
    folder = runs / task / method / f"{n_obs}-{seed}"
    if not (folder / "result.json").exists():
        command = ["run", task, "--n-obs", str(n_obs), "--seed", str(seed), "--out", str(folder)]
        pliant(*command, *METHODS[method])
    if (folder / "result.json").exists() and not (folder / "metrics.json").exists():
        pliant("eval", str(folder))


def pliant(*arguments):
    print("pliant", *arguments, flush=True)
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "pliant.cli", *arguments]
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
        if code.returncode:
            output.seek(0)
            print(output.read().decode(), flush=True)


if __name__ == "__main__":
    main()
