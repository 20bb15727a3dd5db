"""Calibration: for data from the prior, the truth's rank among reference samples is uniform."""

import jax
import numpy as np
import pytest
from scipy import stats

from pliant import tasks

TRIALS, SAMPLES, BINS = 200, 99, 10


def column(j):
    return lambda theta: theta["theta"][..., j]


# Symmetric in the signs that the data cannot show; else the test would see little.
CASES = {
    "gaussian_location": (2, {"first": column(0), "sum": lambda t: t["theta"].sum(axis=-1)}),
    "gaussian_mixture": (
        3,
        {"first": column(0), "second": column(1), "radius": lambda t: np.hypot(*t["theta"].T)},
    ),
    "slcp": (
        2,
        {
            "t1": column(0),
            "|t3|": lambda t: np.abs(t["theta"][..., 2]),
            "|t4|": lambda t: np.abs(t["theta"][..., 3]),
            "t5": column(4),
            "|t2| + |t4|": lambda t: np.abs(t["theta"][..., 1]) + np.abs(t["theta"][..., 3]),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform(name):
    task = tasks.get(name)
    n_obs, functions = CASES[name]
    keys = jax.random.split(jax.random.key(7), TRIALS)
    prior = task.prior["theta"]

    @jax.jit
    @jax.vmap
    def make(key):
        prior_key, key = jax.random.split(key)
        theta = {"theta": prior.sample(prior_key)}
        return theta, jax.vmap(lambda k: task.simulator(k, theta))(jax.random.split(key, n_obs))

    truths, data = jax.tree.map(np.asarray, make(keys))
    ranks = {label: np.empty(TRIALS) for label in functions}
    for trial in range(TRIALS):
        samples = task.posterior_samples(data[trial], seed=trial, n=SAMPLES)
        truth = {"theta": truths["theta"][trial][None]}
        for label, f in functions.items():
            ranks[label][trial] = np.sum(f(samples) < f(truth))
    for label, values in ranks.items():
        counts, _ = np.histogram(values, BINS, range=(0, SAMPLES + 1))
        assert stats.chisquare(counts).pvalue > 0.01, label
