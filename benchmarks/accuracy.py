"""How close posteriors come to the exact ones: ``python benchmarks/accuracy.py [--help]``.

Runs each method on each task for several numbers of observations and seeds, through the
``pliant`` command, and writes the metrics of all runs to ``benchmarks/accuracy.md``. Runs are
kept in a folder. Finished runs are not repeated, so the script can be interrupted.
"""

import argparse
import contextlib
import io
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from pliant.cli.eval import evaluate_run

TASKS = ("gaussian_location", "gaussian_mixture", "slcp", "sir", "furuta")
METHODS = {
    "PLI": (),
    "PLI-MMD": ("--method", "pli-mmd", "--n-particles", "2000"),
    "PLI-W": ("--method", "pli-wasserstein", "--n-particles", "2000"),
    "Rejection-ABC": ("--method", "rejection-abc"),
    "SMC-ABC": ("--method", "smc-abc"),
    "PMC-ABC": ("--method", "pmc-abc"),
    "PMC-ABC-W": ("--method", "pmc-abc", "--discrepancy", "wasserstein"),
    "MH-ABC": ("--method", "mh-abc", "--max-seconds", "120"),
    "APT": ("--method", "apt", "--rounds", "10", "--n-particles", "2000"),
}
FEWER = {  # observations of 600 numbers
    ("furuta", "PLI-MMD"): ("--n-particles", "1000"),
    ("furuta", "PLI-W"): ("--n-particles", "1000"),
    ("furuta", "APT"): ("--rounds", "5", "--n-particles", "500"),
}
SAMPLES = 1000  # of each posterior in the metrics; C2ST takes minutes with more
PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Accuracy of all methods on the five tasks

Written by `python benchmarks/accuracy.py`. Each cell has one number per seed. The rows *exact* are
the noise floor: the score of an independent exact sample of the same size. All metrics use
{samples} samples. C2ST is 0.5 at best and 1 at worst. The log density of the truth should be high,
all other metrics low. The machine was shared with other work and some runs were paused for minutes,
so the seconds are not reliable. The options are the same for all tasks, except
{fewer}:

{options}
"""
FALLS = """## Does the posterior improve with more data?

A factor above one means that it gets closer to the exact posterior. The exact posterior itself
contracts, so distances in the units of the parameters can fall even where C2ST, which has no units,
does not. [docs/accuracy_notes.md](../docs/accuracy_notes.md) explains the factors below one.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/accuracy"), help="folder of runs")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--n-obs", nargs="+", type=int, default=[2, 100, 10, 1])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--skip", choices=["runs", "metrics", "both"], help="what not to compute")
    arguments = parser.parse_args()
    cases = list(
        itertools.product(arguments.seeds, arguments.n_obs, arguments.tasks, arguments.methods)
    )
    if arguments.skip not in ("runs", "both"):
        for case in cases:
            run(arguments.runs, *case)
    if arguments.skip not in ("metrics", "both"):
        for case in cases:
            score(arguments.runs, *case)
    PAGE.write_text(page(arguments.runs))


def folder_of(runs, seed, n_obs, task, method):
    return runs / task / method / f"{n_obs}-{seed}"


def run(runs, seed, n_obs, task, method):
    """One run, unless it is finished."""
    folder = folder_of(runs, seed, n_obs, task, method)
    if (folder / "result.json").exists():
        return
    command = ["run", task, "--n-obs", str(n_obs), "--seed", str(seed), "--out", str(folder)]
    command += [*METHODS[method], *FEWER.get((task, method), ())]
    print("pliant", *command, flush=True)
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [sys.executable, "-m", "pliant.cli", *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            output.seek(0)
            print(output.read().decode(), flush=True)


def score(runs, *case):
    """The metrics of one run, unless they exist; in this process, to share compiled code."""
    folder = folder_of(runs, *case)
    if (folder / "result.json").exists() and not (folder / "metrics.json").exists():
        print("pliant eval", folder, flush=True)
        with contextlib.redirect_stdout(io.StringIO()):
            evaluate_run(folder, n_samples=SAMPLES)


def page(runs):
    """The whole page, from the existing folders."""
    tasks = {
        task: [read(path) for path in sorted(runs.glob(f"{task}/*/*/metrics.json"))]
        for task in TASKS
    }
    tasks = {task: cases for task, cases in tasks.items() if cases}
    ran = {case["method"] for cases in tasks.values() for case in cases}
    parts = [HEAD.format(samples=SAMPLES, options=options(ran), fewer=fewer(tasks)), falls(tasks)]
    parts += [f"## {task}\n\n{table(cases)}\n" for task, cases in tasks.items()]
    return "\n".join(parts)


def falls(tasks):
    """The paper's main claim: how far the distance of each run falls from N = 2 to N = 100."""
    lines = [
        FALLS,
        "| task | method | distance | N = 2 | N = 100 | falls by |",
        "|---|---|---|---|---|---|",
    ]
    for task, cases in tasks.items():
        for method in METHODS:
            for name in ("MMD^2", "Wasserstein^2", "rollout error"):
                few, many = (values(cases, method, n, name) for n in (2, 100))
                if few and many:
                    lines.append(
                        f"| {task} | {method} | {name} | {numbers(few, '.3g')} | "
                        f"{numbers(many, '.3g')} | {factors(few, many)} |"
                    )
    return "\n".join(lines) + "\n"


def factors(few, many):
    """How many times smaller; an unbiased estimate below zero counts as zero."""
    return " / ".join(
        f"{a / b:.2g}" if b > 0 else "to zero" for a, b in zip(few, many, strict=True)
    )


def numbers(values, form):
    known = [value for value in values if value is not None]
    return " / ".join(format(value, form) for value in known) if known else "-"


def values(cases, method, n_obs, name):
    """One number per seed."""
    return [
        metric["value"]
        for case in cases
        if (case["method"], case["n_obs"]) == (method, n_obs)
        for metric in case["metrics"]
        if metric["name"] == name
    ]


def options(ran):
    commands = {name: " ".join(["pliant run TASK", *o]) for name, o in METHODS.items()}
    return "\n".join(f"- {name}: `{text}`" for name, text in commands.items() if name in ran)


def fewer(tasks):
    return ", ".join(
        f"`{' '.join(o)}` for {method} on {task}"
        for (task, method), o in FEWER.items()
        if any(case["method"] == method for case in tasks.get(task, ()))
    )


def read(path):
    """Method, N and seed, status, costs, and the metrics with their floors."""
    folder = path.parent
    n_obs, seed = map(int, folder.name.split("-"))
    last = json.loads((folder / "history.json").read_text())["rounds"][-1]
    return {
        "method": folder.parent.name,
        "n_obs": n_obs,
        "seed": seed,
        "status": json.loads((folder / "result.json").read_text())["status"],
        "simulations": last["simulations"],
        "seconds": last["seconds"],
        "metrics": json.loads(path.read_text())["metrics"],
    }


def table(cases):
    """Rows by N and method, the values of all seeds in a cell; the noise floor in its own rows."""
    names = [metric["name"] for metric in cases[0]["metrics"]]
    lines = [
        "| N | method | " + " | ".join(names) + " | simulations | seconds | status |",
        "|---|---|" + "---|" * (len(names) + 3),
    ]
    for n_obs in sorted({case["n_obs"] for case in cases}):
        some = [case for case in cases if case["n_obs"] == n_obs]
        for method in sorted({case["method"] for case in some}, key=list(METHODS).index):
            seeds = [case for case in some if case["method"] == method]
            lines.append(row(n_obs, method, seeds, names, "value"))
        floors = {case["seed"]: case for case in some}
        lines.append(row(n_obs, "*exact*", list(floors.values()), names, "floor"))
    return "\n".join(lines)


def row(n_obs, method, cases, names, field):
    metrics = [{m["name"]: m[field] for m in case["metrics"]} for case in cases]
    cells = [numbers([m[name] for m in metrics], ".3g") for name in names]
    costs = ["-"] * 3
    if field == "value":
        costs = [
            numbers([case["simulations"] for case in cases], ",d"),
            numbers([case["seconds"] for case in cases], ".0f"),
            " / ".join(case["status"] for case in cases),
        ]
    return f"| {n_obs} | {method} | " + " | ".join([*cells, *costs]) + " |"


if __name__ == "__main__":
    main()
