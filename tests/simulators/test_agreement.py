"""The same problem as a JAX function, a NumPy function and a program: the same posterior."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant

pytestmark = pytest.mark.training

PRIOR = {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)}
OBSERVED = np.asarray(2 + jax.random.normal(jax.random.key(0), (30, 2)))
METHOD = pliant.PLI(
    rounds=2,
    n_particles=40,
    n_draws=5,
    discrepancy=pliant.MMD(),
    family=pliant.Gaussian(),
    noise_limit=None,
)
BOX_MULLER = """
function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
BEGIN { srand(seed); rand(); print mu + sigma * normal() "," mu + sigma * normal() }
"""


def in_jax(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


def in_numpy(rng, theta):
    return theta["mu"] + theta["sigma"] * rng.normal(size=2)


def log_means(simulator, seed):
    problem = pliant.Problem(PRIOR, simulator, OBSERVED)
    theta = pliant.infer(problem, METHOD, seed=seed).posterior.sample(1000)
    return np.array([theta["mu"].mean(), np.log(theta["sigma"]).mean()])


def test_three_ways_to_write_a_simulator_agree():
    """Within four standard deviations of the runs that differ by their seeds alone."""
    compiled = np.stack([log_means(in_jax, seed) for seed in range(5)])
    in_python = np.stack([log_means(pliant.PythonSimulator(in_numpy), seed) for seed in range(5)])
    words = ["awk", "-v", "mu={mu}", "-v", "sigma={sigma}", "-v", "seed={seed}", BOX_MULLER]
    program = pliant.CommandSimulator(words, read="csv", workers=2)
    spread = compiled.std(axis=0, ddof=1)
    of_five = 4 * spread * np.sqrt(2 / 5)
    assert np.all(np.abs(in_python.mean(axis=0) - compiled.mean(axis=0)) < of_five)
    alone = 4 * spread * np.sqrt(1 + 1 / 5)
    assert np.all(np.abs(log_means(program, 0) - compiled.mean(axis=0)) < alone)
