"""Where the time of a run goes: ``python benchmarks/speed.py [TASK] [--n-obs N] [--rounds T]``.

Writes to ``benchmarks/results/speed.md`` the seconds of each phase of a default run, from the start
of its process, with the compilation of the first round apart, and the peak memory. The run is
made twice: as with the command, the second one finds what the first has compiled.
"""

import time

START = time.perf_counter()

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import jax

import pliant
from pliant._devices import keep_compiled_code
from pliant.densities.spline_flow import SplineFlow
from pliant.discrepancies import measured
from pliant.simulators.jax import JaxSimulator

LOADED = time.perf_counter()
PAGE = Path(__file__).parent / "results" / "speed.md"


def timed(totals, name, function):
    """The function, adding the seconds of each call to ``totals[name]``."""

    def wrapped(*args, **kwargs):
        start = time.perf_counter()
        value = function(*args, **kwargs)
        jax.block_until_ready(jax.tree.leaves(value))
        totals[name].append(time.perf_counter() - start)
        return value

    return wrapped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="slcp")
    parser.add_argument("--n-obs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--once", action="store_true", help="print one run, and write nothing")
    arguments = parser.parse_args()
    if arguments.once:
        print(measure(arguments))
        return
    command = [sys.executable, __file__, *sys.argv[1:], "--once"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PLIANT_CACHE": cache}
        first, second = (
            subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            for _ in range(2)
        )
    title = f"# {arguments.task}, N = {arguments.n_obs}"
    page = f"{title}\n\n## First run\n\n{first.stdout}\n## Second run\n\n{second.stdout}"
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page)
    print(page)


def measure(arguments):
    """The table of one run, in this process."""
    keep_compiled_code()
    totals = defaultdict(list)
    measured._measure = timed(totals, "discrepancy", measured._measure)
    JaxSimulator.simulate = timed(totals, "simulation", JaxSimulator.simulate)
    SplineFlow.fit = timed(totals, "fit", SplineFlow.fit)
    rounds = []
    problem = pliant.tasks.get(arguments.task).problem(n_obs=arguments.n_obs)
    ready = time.perf_counter()
    pliant.infer(
        problem,
        pliant.PLI(discrepancy=pliant.MMD(), rounds=arguments.rounds),
        callback=lambda row, _: rounds.append(row["seconds"]),
    )
    end = time.perf_counter()

    lines = [
        "| phase | first round, s | later rounds, s each |\n|---|---|---|",
    ]
    per_round = {name: len(times) // len(rounds) for name, times in totals.items()}
    for name, times in totals.items():
        first, rest = times[: per_round[name]], times[per_round[name] :]
        lines.append(f"| {name} | {sum(first):.2f} | {sum(rest) / max(len(rounds) - 1, 1):.2f} |")
    later = (rounds[-1] - rounds[0]) / max(len(rounds) - 1, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines += [
        f"| whole round | {rounds[0]:.2f} | {later:.2f} |",
        f"\nImports {LOADED - START:.1f} s, problem {ready - LOADED:.1f} s, run "
        f"{end - ready:.1f} s: {end - START:.1f} s from the start of the process. "
        f"Peak memory {peak:.2f} GiB.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
