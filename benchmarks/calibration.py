"""Are posteriors as wide as they say? ``python benchmarks/calibration.py [--help]``.

Simulation-based calibration: draw a parameter from the prior and N observations with it, then take
its rank among posterior samples. Over many such data sets, the ranks of a calibrated posterior
are uniform, and its 90 % intervals contain nine parameters of ten. The problem is small, the mean
and the scale of a normal distribution, and hundreds of runs take minutes. Ranks are kept in a
file, one line per run. Finished runs are not repeated, so the script can be interrupted.
"""

import argparse
import json
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
from scipy.stats import binomtest, chisquare

import pliant
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES

PAGE = Path(__file__).parent / "results" / "calibration.md"
N_OBS = 50
N_RANKED = 99  # samples among which a truth has a rank, 0 to 99
N_BINS = 10
PRIOR = {"mean": dist.Normal(0.0, 2.0), "scale": dist.LogNormal(0.0, 0.5)}
SMALL = pliant.LikelihoodKL(  # as small as the problem
    layers=2, width=20, training=pliant.Training(steps=500, rate=3e-3, every=50, patience=5)
)
PAPER_MMD = pliant.MMD(lengthscales=PAPER_LENGTHSCALES)
METRIC = {"n_particles": 1000, "family": pliant.Gaussian(), "rounds": 14}
METHODS = {
    "learned": pliant.PLI(discrepancy=SMALL, n_particles=500, family=pliant.Gaussian()),
    "MMD, fixed": pliant.PLI(discrepancy=PAPER_MMD, **METRIC),
    "MMD, calibrated": pliant.PLI(discrepancy=PAPER_MMD, beta="calibrated", **METRIC),
    "MMD median, fixed": pliant.PLI(discrepancy=pliant.MMD(lengthscales="median"), **METRIC),
    "MMD median, calibrated": pliant.PLI(
        discrepancy=pliant.MMD(lengthscales="median"), beta="calibrated", **METRIC
    ),
}
HEAD = """# Calibration

Written by `python benchmarks/calibration.py`. It infers the mean and the scale of a normal
distribution from {n_obs} observations, for truths drawn from the prior. *Coverage* is the share of
90 % intervals that contain the truth, with its 95 % interval. *p* is the p-value of a chi-square
test of the truth's ranks in {bins} equal bins: below 0.01, the posterior is not calibrated. *MMD*
without *median* has the paper's eleven lengthscales.

| method | data sets | parameter | coverage | 95 % interval | p |
|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/calibration.jsonl"), help="ranks")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--sets", type=int, default=100, help="data sets")
    arguments = parser.parse_args()
    arguments.runs.parent.mkdir(exist_ok=True, parents=True)
    done = {(row["method"], row["set"]) for row in rows(arguments.runs)}
    for method in arguments.methods:
        for number in range(arguments.sets):
            if (method, number) not in done:
                row = {"method": method, "set": number, **ranks(METHODS[method], number)}
                with arguments.runs.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(rows(arguments.runs)))
        print(PAGE.read_text(), flush=True)


def simulator(key, theta):
    """One observation."""
    return theta["mean"] + theta["scale"] * jax.random.normal(key, (1,))


def ranks(method, number):
    """The rank of each parameter's truth among posterior samples of a data set."""
    truth_key, data_key = jax.random.split(jax.random.key(number))
    truth = {
        name: prior.sample(jax.random.fold_in(truth_key, i))
        for i, (name, prior) in enumerate(PRIOR.items())
    }
    observed = jax.vmap(lambda key: simulator(key, truth))(jax.random.split(data_key, N_OBS))
    problem = pliant.Problem(PRIOR, simulator, np.asarray(observed))
    result = pliant.infer(problem, method, seed=number, progress=False)
    samples = result.posterior.sample(N_RANKED, seed=1)
    return {name: int(np.sum(samples[name] < truth[name])) for name in PRIOR} | {
        "status": result.status,
        "simulations": int(result.history[-1]["simulations"]),
    }


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def page(found):
    """Both tests of each method and parameter."""
    lines = []
    for method in METHODS:
        mine = [row for row in found if row["method"] == method]
        for name in PRIOR if mine else ():
            rank = np.array([row[name] for row in mine])
            inside = int(np.sum((rank >= 5) & (rank < 95)))
            low, high = binomtest(inside, len(rank)).proportion_ci(method="wilson")
            bins = np.bincount(rank * N_BINS // (N_RANKED + 1), minlength=N_BINS)
            lines.append(
                f"| {method} | {len(rank)} | {name} | {inside / len(rank):.2f} | "
                f"{low:.2f} to {high:.2f} | {chisquare(bins).pvalue:.2g} |\n"
            )
    return HEAD.format(n_obs=N_OBS, bins=N_BINS) + "".join(lines)


if __name__ == "__main__":
    main()
