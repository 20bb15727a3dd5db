"""How good ``pliant.infer(problem)`` is, without any option: ``python benchmarks/defaults.py``.

Runs it on tasks and other problems with exact posteriors, for several numbers of observations and
seeds, and writes ``benchmarks/results/defaults.csv`` (a row per run, as soon as it ends) and
``defaults.md``. Runs that the table has are not repeated.
"""

import argparse
import csv
import itertools
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from exact_problems import PROBLEMS

import pliant
from pliant.metrics import c2st
from pliant.problem.samples import as_table

TASKS = (
    "gaussian_location",
    "gaussian_mixture",
    "slcp",
    "sir",
    "two_moons",
    "lotka_volterra",
)
PLACE = Path(__file__).parent / "results"
SAMPLES = 1000  # in C2ST, which takes minutes with more
COLUMNS = (
    *("problem", "n_obs", "seed", "status", "c2st", "floor", "off", "narrowest", "widest"),
    *("modes", "se", "k_hat", "rounds", "simulations", "seconds", "cpu", "message"),
)
HEAD = """# The default method against exact posteriors

Written by `python benchmarks/defaults.py`: `pliant.infer(problem)` without {without}. Means over
the seeds; *worst* is the largest C2ST of a seed. C2ST of {samples} samples is 0.5 at best and 1 at
worst; *floor* is that of two exact samples. *Off* is the largest distance of a mean from the exact
one, in exact standard deviations, and *widths* are the standard deviations divided by the exact
ones, over all parameters and seeds, both after symmetric modes were folded. The machine was shared,
so seconds are only a guide.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=[*TASKS, *PROBLEMS])
    parser.add_argument("--n-obs", nargs="+", type=int, default=[1, 2, 10, 100, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--max-simulations", type=int)
    parser.add_argument("--table", type=Path, default=PLACE / "defaults.csv")
    arguments = parser.parse_args()
    rows = read(arguments.table)
    known = {(row["problem"], int(row["n_obs"]), int(row["seed"])) for row in rows}
    for case in itertools.product(arguments.problems, arguments.n_obs, arguments.seeds):
        if case not in known:
            row = measured(*case, arguments.max_simulations)
            print(*(f"{key}={value}" for key, value in row.items()), flush=True)
            append(arguments.table, row)
    rows = read(arguments.table)
    budget = arguments.max_simulations
    without = "any option" if budget is None else f"options but max_simulations={budget:,}"
    arguments.table.with_suffix(".md").write_text(page(rows, without))


def measured(name, n_obs, seed, max_simulations=None):
    """One run and its scores."""
    problem, exact = problem_and_reference(name, n_obs, seed)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.PliantWarning)  # the status is in the table
        result = pliant.infer(problem, seed=seed, max_simulations=max_simulations, progress=False)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    reference = as_table(exact)[1]
    names = list(exact)
    drawn = as_table(result.posterior.sample(10_000, seed=seed), names)[1]
    first, second = reference[:SAMPLES], reference[-SAMPLES:]
    row = {
        "problem": name,
        "n_obs": n_obs,
        "seed": seed,
        "status": str(result.status),
        "c2st": round(c2st(first, drawn[:SAMPLES]), 3),
        "floor": round(c2st(first, second), 3),
    }
    row |= shape(name, reference, drawn)
    last = result.history[-1]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    se = last.get("log_likelihood_se")
    return row | {
        "se": "" if se is None else round(float(se), 3),
        "k_hat": "" if result.check is None else round(result.check.k_hat, 2),
        "rounds": len(result.history),
        "simulations": last["simulations"],
        "seconds": round(seconds, 1),
        "cpu": round(cpu, 1),
        "message": result.message,
    }


def problem_and_reference(name, n_obs, seed):
    if name in PROBLEMS:
        problem = PROBLEMS[name].problem(n_obs, seed)
        return problem, PROBLEMS[name].reference(problem, 10_000)
    task = pliant.tasks.get(name)
    exact = {k: np.asarray(v) for k, v in task.reference(n_obs=n_obs, seed=seed, n=10_000).items()}
    return task.problem(n_obs=n_obs, seed=seed), exact


def shape(name, reference, drawn):
    """How far means are off, the range of widths, and shares of SLCP's modes."""
    modes = ""
    if name == "slcp":
        quadrant = 2 * (drawn[:, 2] > 0) + (drawn[:, 3] > 0)
        shares = np.bincount(quadrant, minlength=4) / len(drawn)
        modes = f"{shares.min():.2f} to {shares.max():.2f}"
        reference, drawn = (fold_signs(table) for table in (reference, drawn))
    if name == "two_moons":
        modes = f"{np.mean(drawn.sum(axis=1) > 0):.2f}"
        reference, drawn = (fold_moons(table) for table in (reference, drawn))
    spread = reference.std(axis=0)
    off = np.abs(drawn.mean(axis=0) - reference.mean(axis=0)) / spread
    widths = drawn.std(axis=0) / spread
    return {
        "off": round(float(off.max()), 3),
        "narrowest": round(float(widths.min()), 3),
        "widest": round(float(widths.max()), 3),
        "modes": modes,
    }


def fold_signs(table):
    """SLCP's third and fourth parameter without their signs, which no data determine."""
    table = table.copy()
    table[:, 2:4] = np.abs(table[:, 2:4])
    return table


def fold_moons(table):
    """Two moons mirrored into one, in coordinates along and across the diagonal."""
    return np.stack([np.abs(table[:, 0] + table[:, 1]), table[:, 1] - table[:, 0]], axis=1)


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path, row):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def page(rows, without="any option"):
    heads = ["problem", "N", "seeds", "converged", "C2ST", "worst", "floor", "off", "widths"]
    heads += ["modes", "simulations", "seconds"]
    lines = [heads, ["---"] * len(heads)]
    order = {name: place for place, name in enumerate((*TASKS, *PROBLEMS))}
    cases = {(row["problem"], int(row["n_obs"])) for row in rows}
    for name, n_obs in sorted(cases, key=lambda case: (order.get(case[0], 99), case[1])):
        mine = [r for r in rows if (r["problem"], int(r["n_obs"])) == (name, n_obs)]
        lines.append([name, str(n_obs), *cells(mine)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{HEAD.format(samples=SAMPLES, without=without)}{table}\n"


def cells(rows):
    def column(key):
        return [float(row[key]) for row in rows]

    converged = sum(row["status"] == "converged" for row in rows)
    simulations = sorted({int(row["simulations"]) for row in rows})
    return [
        str(len(rows)),
        str(converged),
        f"{np.mean(column('c2st')):.3f}",
        f"{max(column('c2st')):.3f}",
        f"{np.mean(column('floor')):.3f}",
        f"{max(column('off')):.2f}",
        f"{min(column('narrowest')):.2f} to {max(column('widest')):.2f}",
        "; ".join(row["modes"] for row in rows if row["modes"]),
        " to ".join(f"{n:,}" for n in dict.fromkeys((simulations[0], simulations[-1]))),
        f"{np.median(column('seconds')):.0f}",
    ]


if __name__ == "__main__":
    main()
