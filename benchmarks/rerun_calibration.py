"""Whether calibration by the learned likelihood agrees with that by whole runs.

``python benchmarks/rerun_calibration.py`` infers a mean and a width from twenty observations, and
diagnoses the posterior twice: ranks by the likelihood that was learned, and ranks of whole runs on
100 simulated sets. Writes ``benchmarks/results/rerun_calibration.md``. The runs are kept in
``--folder``, so that another call continues.
"""

import argparse
import warnings
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist

import pliant
from pliant.diagnosis.calibration import LEVELS

PLACE = Path(__file__).parent / "results" / "rerun_calibration.md"
METHOD = pliant.PLI(
    discrepancy=pliant.LikelihoodKL(
        networks=2, layers=2, width=32, n_evaluated=2000, training=pliant.Training(steps=1000)
    ),
    family=pliant.Gaussian(),
    n_particles=500,
    n_draws=20,
    rounds=10,
)


def simulator(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (1,))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reruns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    prior = {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)}
    observed = 1 + 2 * np.random.default_rng(0).normal(size=(20, 1))
    problem = pliant.Problem(prior, simulator, observed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.PliantWarning)
        result = pliant.infer(problem, METHOD, seed=0)
    learned = pliant.diagnose(result, problem)
    options = {"workers": arguments.workers, "folder": arguments.folder, "progress": print}
    runs = pliant.diagnose(result, problem, reruns=arguments.reruns, **options)
    PLACE.write_text(page(result, learned, runs, arguments.reruns))


def page(result, learned, runs, reruns):
    """The Markdown page."""
    lines = [
        "# Calibration by the learned likelihood, and by whole runs",
        "",
        "Written by `python benchmarks/rerun_calibration.py`. A mean and a width from 20 normal",
        f"observations; the run ended as `{result.status}`. Ranks by the learned likelihood of",
        f"{len(learned.calibration.ranks)} simulated sets, and by {reruns} whole runs; coverage",
        "with its 95 % binomial interval.",
        "",
        "| parameter | interval | by the likelihood | by runs |",
        "|---|---|---|---|",
    ]
    tables = [found.calibration.coverage() for found in (learned, runs)]
    for j, name in enumerate(learned.calibration.names):
        for i, level in enumerate(LEVELS):
            cells = [f"{t[j, i, 0]:.2f} ({t[j, i, 1]:.2f} to {t[j, i, 2]:.2f})" for t in tables]
            lines.append(f"| {name} | {level:.0%} | {cells[0]} | {cells[1]} |")
    lines += ["", "| parameter | mean rank by the likelihood | by runs |", "|---|---|---|"]
    for j, name in enumerate(learned.calibration.names):
        means = [
            f"{r[:, j].mean():.3f} ± {r[:, j].std() / len(r) ** 0.5:.3f}"
            for r in (learned.calibration.ranks, runs.calibration.ranks)
        ]
        lines.append(f"| {name} | {means[0]} | {means[1]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
