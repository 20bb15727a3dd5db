"""A limit on time: work raises after it, in threads too, and other work knows nothing of it."""

import time
from contextvars import copy_context

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from learned_networks import LIKELIHOOD, learned
from pliant._deadline import DeadlineError, check_time, time_limit
from pliant._devices import in_threads
from pliant.densities.gaussian import Gaussian
from pliant.densities.training import Training, train
from pliant.problem.sets import observed_draws, simulate_sets

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 1)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (1,)),
    np.zeros((3, 1)),
)


def past():
    return time_limit(time.monotonic() - 1)


def test_time_is_over_within_the_block_only():
    check_time()
    with time_limit(time.monotonic() + 100):
        check_time()
        with past(), pytest.raises(DeadlineError):
            check_time()
        check_time()


def test_threads_know_of_it_and_other_contexts_do_not():
    other = copy_context()
    with past():
        with pytest.raises(DeadlineError):
            in_threads(lambda _: check_time(), range(3))
        other.run(check_time)
    assert in_threads(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]


def squared(model, data, key):
    return jnp.sum(model.mean**2)


def test_simulation_training_and_evaluation_look_at_the_clock():
    z = PROBLEM.prior.sample(jax.random.key(0), 100)
    density, _ = Gaussian().fit(jax.random.key(1), z, jnp.zeros(100), None)
    ensemble, _ = learned(LIKELIHOOD, PROBLEM, rounds=1, n_particles=100)
    works = [
        lambda: simulate_sets(jax.random.key(2), PROBLEM, z, 2),
        lambda: train(jax.random.key(3), density, None, squared, None, Training(steps=2, every=1)),
        lambda: ensemble.log_values(PROBLEM, observed_draws(PROBLEM), z, np.arange(1)),
    ]
    for work in works:
        work()
        with past(), pytest.raises(DeadlineError):
            work()
