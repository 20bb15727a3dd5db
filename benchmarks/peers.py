"""Pliant beside sbi's NPE and NLE: ``python benchmarks/peers.py --sbi PYTHON [--help]``.

The same observations and the same exact posteriors for all, and the same number of simulator
calls at most. sbi needs an environment of its own, as it brings PyTorch:

    python3.11 -m venv /some/where
    /some/where/bin/pip install sbi
    python benchmarks/peers.py --sbi /some/where/bin/python

sbi is given simulations with prior draws, made beforehand: sets of N for NPE, single ones for NLE.
Parameters are exchanged as normal scores, in which the tasks' priors, all of independent
parameters, are standard normal.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

import pliant
from pliant.metrics.c2st import c2st
from pliant.problem.samples import as_table
from pliant.problem.sets import simulate_sets

PAGE = Path(__file__).parent / "results" / "peers.md"
N_SAMPLES = 1000
HEAD = """# Comparison with sbi

Written by `python benchmarks/peers.py`. C2ST against exact samples is 0.5 at best and 1 at worst.
One run each. The seconds are those of training and sampling, on a machine that also did other work.

| task | N | seed | method | simulator calls | C2ST | seconds |
|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sbi", type=Path, required=True, help="the Python that has sbi")
    parser.add_argument("--tasks", nargs="+", default=["slcp", "gaussian_location"])
    parser.add_argument("--n-obs", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--calls", type=int, default=200_000, help="simulator calls at most")
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        for n_obs in arguments.n_obs:
            for seed in arguments.seeds:
                rows += compare(arguments.sbi, task, n_obs, seed, arguments.calls)
                PAGE.parent.mkdir(exist_ok=True)
                PAGE.write_text(HEAD + "".join(rows))


def compare(python, name, n_obs, seed, calls):
    """A line for each method."""
    task = pliant.tasks.get(name)
    problem = task.problem(n_obs=n_obs, seed=seed)
    exact = columns(problem, task.reference(n_obs=n_obs, seed=seed))[:N_SAMPLES]
    lines = []

    def add(method, used, samples, seconds):
        score = c2st(exact, samples)
        line = (
            f"| {name} | {n_obs} | {seed} | {method} | {used:,} | {score:.3f} | {seconds:.0f} |\n"
        )
        print(line, end="", flush=True)
        lines.append(line)

    start = time.monotonic()
    result = pliant.infer(problem, seed=seed, max_simulations=calls)
    samples = columns(problem, result.posterior.sample(N_SAMPLES, seed=1))
    used = int(result.history[-1]["simulations"])
    add("PLI()", used, samples, time.monotonic() - start)
    with tempfile.TemporaryDirectory() as folder:
        cost = write_simulations(Path(folder), problem, calls)
        for peer in ("npe", "nle"):
            script = Path(__file__).with_name("peers_sbi.py")
            subprocess.run(
                [python.absolute(), script.absolute(), folder, peer],
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=folder,  # sbi writes logs
            )
            found = np.load(Path(folder) / f"{peer}.npz")
            samples = columns(problem, from_scores(problem, found["u"]))
            add(f"sbi {peer.upper()}", cost[peer], samples, float(found["seconds"]))
    return lines


def write_simulations(folder, problem, calls):
    """Sets of N and single draws, each within the calls; returns how many they took."""
    n_sets, n_draws = calls // problem.n_obs, calls
    keys = jax.random.split(jax.random.key(0), 4)
    z_sets = problem.prior.sample(keys[0], n_sets)
    z_draws = problem.prior.sample(keys[1], n_draws)
    np.savez(
        folder / "data.npz",
        theta_sets=to_scores(problem, z_sets),
        x_sets=simulate_sets(keys[2], problem, z_sets, problem.n_obs)[0],
        theta_draws=to_scores(problem, z_draws),
        x_draws=simulate_sets(keys[3], problem, z_draws, 1)[0][:, 0].reshape(n_draws, -1),
        observed=np.asarray(problem.observed).reshape(problem.n_obs, -1),
    )
    return {"npe": n_sets * problem.n_obs, "nle": n_draws}


def columns(problem, theta):
    return as_table(theta, problem.prior.space.names)[1]


def to_scores(problem, z):
    """Normal scores of parameters, by the quantiles of their prior's draws."""
    draws = np.sort(np.asarray(problem.prior.sample(jax.random.key(9), 100_000)), axis=0)
    z = np.asarray(z)
    ranks = [np.interp(z[:, i], draws[:, i], grid(len(draws))) for i in range(z.shape[1])]
    return norm.ppf(np.stack(ranks, axis=1)).astype(np.float32)


def from_scores(problem, scores):
    """Parameters again, in the prior's structure."""
    draws = np.sort(np.asarray(problem.prior.sample(jax.random.key(9), 100_000)), axis=0)
    p = norm.cdf(np.asarray(scores, np.float64))
    z = [np.interp(p[:, i], grid(len(draws)), draws[:, i]) for i in range(p.shape[1])]
    return jax.vmap(problem.prior.space.constrain)(jnp.asarray(np.stack(z, axis=1), float))


def grid(n):
    return (np.arange(n) + 0.5) / n


if __name__ == "__main__":
    main()
