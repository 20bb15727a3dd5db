"""A learned ratio beside MMD on the Furuta pendulum: ``python benchmarks/pendulum.py [--help]``.

A motion of the pendulum is 600 numbers without noise, given its initial state, which is hidden: it
has no likelihood to speak of. ``RatioKL`` with an embedding of the motions is given a tenth of
the simulations that MMD has. The score is the accumulated error of motions with posterior
draws, from the true motions' initial states. Runs that are finished are not repeated.
"""

import argparse
from pathlib import Path

import pliant
from pliant.metrics.rollouts import rollout_error

PAGE = Path(__file__).parent / "results" / "pendulum.md"
RATIO = pliant.RatioKL(
    embedding=pliant.Concatenation(),
    networks=1,
    atoms=8,
    training=pliant.Training(steps=1000, rate=1e-3, every=100, patience=10),
)
METHODS = {
    "PLI-MMD": pliant.PLI(discrepancy=pliant.MMD(), n_particles=1000, n_draws=100),
    "RatioKL": pliant.PLI(discrepancy=RATIO, n_particles=500, n_draws=20),
}
HEAD = """# The pendulum with a learned ratio

Written by `python benchmarks/pendulum.py` for 100 motions and 20 rounds. The table has the
accumulated error of motions with posterior draws after some of the rounds, and the number of
simulations so far.

| method | seed | after round | simulations | error | seconds |
|---|---|---|---|---|---|
"""
REPORTED = (3, 6, 10, 15, 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/pendulum"), help="folder of runs")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    arguments = parser.parse_args()
    arguments.runs.mkdir(exist_ok=True, parents=True)
    for method in arguments.methods:
        for seed in arguments.seeds:
            part = arguments.runs / f"{method}-{seed}.md"
            if not part.exists():
                part.write_text("".join(compare(method, seed)))
            parts = [path.read_text() for path in sorted(arguments.runs.glob("*.md"))]
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(HEAD + "".join(parts))


def compare(name, seed):
    """A line for each of some rounds."""
    task = pliant.tasks.get("furuta")
    lines = []

    def report(row, posterior):
        error = rollout_error(task, posterior.sample(1000, seed=1))
        line = (
            f"| {name} | {seed} | {row['round']} | {row['simulations']:,} | {error:.1f} | "
            f"{row['seconds']:.0f} |\n"
        )
        print(line, end="", flush=True)
        lines.append(line)

    pliant.infer(task.problem(n_obs=100, seed=seed), METHODS[name], seed=seed, callback=report)
    return [line for number, line in enumerate(lines, 1) if number in (*REPORTED, len(lines))]


if __name__ == "__main__":
    main()
