"""The weights of PMC-ABC at the paper's settings: ``python benchmarks/pmc_weights.py [--help]``.

Algorithm 3 weights a particle by the proposal of the round that drew it. This compares these
weights (``weights="round"``) with those by the proposals of all rounds (``"all"``), and the mixture
of five Gaussians with a kernel around each kept particle, against exact posteriors. Runs that are
finished are not repeated.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import pliant
from pliant.metrics.mmd import squared_mmd
from pliant.problem.samples import as_table

PAGE = Path(__file__).parent / "results" / "pmc_weights.md"
CELLS = [("gaussian_location", 10), ("slcp", 100), ("gaussian_mixture", 20)]
KERNELS = {"mixture": {}, "particles": {"perturbation": None}}
REPORTED = (15, 50, 100, 200)
HEAD = """# Weights of PMC-ABC

Written by `python benchmarks/pmc_weights.py`: `PMCABC.paper()`, which keeps 100 of 1000
particles. *proposal* is the paper's mixture of five Gaussians, or a kernel around each kept
particle. *acceptance* is the share of new particles within the last bandwidth. *MMD²* is the
squared distance to the exact posterior, *width* the mean ratio of standard deviations to exact
ones, *off* the root mean square distance of the means in exact standard deviations.

| task | N | seed | proposal | weights | round | acceptance | ESS of 100 | MMD² | width | off |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/pmc"), help="folder of runs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    arguments = parser.parse_args()
    arguments.runs.mkdir(exist_ok=True, parents=True)
    for seed, (task, n_obs), kernel, weights in itertools.product(
        arguments.seeds, CELLS, KERNELS, ("round", "all")
    ):
        part = arguments.runs / f"{task}-{n_obs}-{kernel}-{weights}-{seed}.md"
        if not part.exists():
            part.write_text("".join(compare(task, n_obs, kernel, weights, seed)))
        parts = [path.read_text() for path in sorted(arguments.runs.glob("*.md"))]
        PAGE.write_text(HEAD + "".join(parts))


def compare(name, n_obs, kernel, weights, seed):
    """A line for each of some rounds."""
    task = pliant.tasks.get(name)
    exact = task.reference(n_obs=n_obs, seed=seed, n=2000)
    reference = as_table(exact)[1]
    lines = []

    def report(row, posterior):
        if row["round"] in REPORTED:
            drawn = as_table(posterior.sample(2000, seed=1), list(exact))[1]
            spread = reference.std(axis=0)
            width = np.mean(drawn.std(axis=0) / spread)
            off = np.sqrt(np.mean(((drawn.mean(axis=0) - reference.mean(axis=0)) / spread) ** 2))
            lines.append(
                f"| {name} | {n_obs} | {seed} | {kernel} | {weights} | {row['round']} | "
                f"{row['acceptance']:.3f} | {row['ess']:.0f} | {squared_mmd(drawn, reference):.2g} "
                f"| {width:.2f} | {off:.2f} |\n"
            )
            print(lines[-1], end="", flush=True)

    method = pliant.PMCABC.paper(weights=weights, **KERNELS[kernel])
    problem = task.problem(n_obs=n_obs, seed=seed)
    pliant.infer(problem, method, seed=seed, callback=report, progress=False)
    return lines


if __name__ == "__main__":
    main()
