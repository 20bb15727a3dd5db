"""Calibration: for data from the prior, the truth's rank among reference samples is uniform."""

import jax
import numpy as np
import pytest
from scipy import stats

from pliant import tasks
from pliant.tasks import lotka_volterra

SAMPLES, BINS = 99, 10


def column(j):
    return lambda theta: theta["theta"][..., j]


# Trials, observations and functions of the parameters. The functions are symmetric in the signs
# that the data cannot show; else the test would see little.
CASES = {
    "gaussian_location": (200, 2, {"first": column(0), "sum": lambda t: t["theta"].sum(axis=-1)}),
    "gaussian_mixture": (
        200,
        3,
        {"first": column(0), "second": column(1), "radius": lambda t: np.hypot(*t["theta"].T)},
    ),
    "slcp": (
        200,
        2,
        {
            "t1": column(0),
            "|t3|": lambda t: np.abs(t["theta"][..., 2]),
            "|t4|": lambda t: np.abs(t["theta"][..., 3]),
            "t5": column(4),
            "|t2| + |t4|": lambda t: np.abs(t["theta"][..., 1]) + np.abs(t["theta"][..., 3]),
        },
    ),
    "two_moons": (
        200,
        2,
        {
            "|t1 + t2|": lambda t: np.abs(t["theta"].sum(axis=-1)),
            "t2 - t1": lambda t: t["theta"][..., 1] - t["theta"][..., 0],
            "largest": lambda t: np.abs(t["theta"]).max(axis=-1),
        },
    ),
    "lotka_volterra": (
        60,
        1,
        {
            "alpha": lambda t: t["alpha"],
            "beta": lambda t: t["beta"],
            "gamma": lambda t: t["gamma"],
            "delta": lambda t: t["delta"],
            "prey at rest": lambda t: t["gamma"] / t["delta"],
        },
    ),
}


SLOW = {"lotka_volterra"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.training] if name in SLOW else []) for name in CASES],
)
def test_ranks_are_uniform(name, monkeypatch):
    if name == "lotka_volterra":  # simulator and reference agree at any step of their ODE
        monkeypatch.setattr(lotka_volterra, "_STEPS", 20)
    task = tasks.get(name)
    trials, n_obs, functions = CASES[name]
    keys = jax.random.split(jax.random.key(7), trials)

    @jax.jit
    @jax.vmap
    def make(key):
        prior_key, key = jax.random.split(key)
        prior_keys = jax.random.split(prior_key, len(task.prior))
        theta = {
            name: prior.sample(k)
            for k, (name, prior) in zip(prior_keys, task.prior.items(), strict=True)
        }
        return theta, jax.vmap(lambda k: task.simulator(k, theta))(jax.random.split(key, n_obs))

    truths, data = jax.tree.map(np.asarray, make(keys))
    ranks = {label: np.empty(trials) for label in functions}
    for trial in range(trials):
        samples = task.posterior_samples(data[trial], seed=trial, n=SAMPLES)
        truth = {name: leaf[trial][None] for name, leaf in truths.items()}
        for label, f in functions.items():
            ranks[label][trial] = np.sum(f(samples) < f(truth))
    for label, values in ranks.items():
        counts, _ = np.histogram(values, BINS, range=(0, SAMPLES + 1))
        assert stats.chisquare(counts).pvalue > 0.01, label
