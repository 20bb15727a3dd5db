"""Simulated sets: chunks change no bit, the last one is padded, and no slow draw is wasted."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.sets import simulate_chunks, simulate_sets

PRIOR = {"mu": dist.Normal(0, 5)}
KEY = jax.random.key(1)
calls = []


def in_jax(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))


def in_numpy(rng, theta):
    calls.append(theta["mu"])
    return rng.normal(theta["mu"], size=2)


SIMULATORS = {"jax": in_jax, "python": pliant.PythonSimulator(in_numpy)}


@pytest.fixture(params=SIMULATORS)
def problem(request):
    return pliant.Problem(PRIOR, SIMULATORS[request.param], np.zeros((4, 2)))


@pytest.mark.default_flags
def test_chunks_change_no_bit(problem):
    z = problem.prior.sample(jax.random.key(0), 7)
    x, ok = simulate_sets(KEY, problem, z, 3)
    assert x.shape == (7, 3, 2)
    assert ok.all()
    for size in (1, 2, 7, 100):
        chunks = list(simulate_chunks(KEY, problem, z, 3, chunk_size=size))
        assert [chunk.start for chunk in chunks] == list(range(0, 7, min(size, 7)))
        together = np.concatenate([chunk.x[: chunk.rows] for chunk in chunks])
        np.testing.assert_array_equal(together, x)


def test_all_chunks_have_one_size_and_slow_draws_are_not_wasted():
    problem = pliant.Problem(PRIOR, SIMULATORS["python"], np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), 7)
    calls.clear()
    chunks = list(simulate_chunks(KEY, problem, z, 3, chunk_size=4))
    assert [(chunk.rows, len(chunk.x), len(chunk.ok)) for chunk in chunks] == [(4, 4, 4), (3, 4, 4)]
    assert len(calls) == 7 * 3
    np.testing.assert_array_equal(chunks[1].x[3], chunks[1].x[2])  # padding repeats the last


def test_more_draws_begin_with_the_same():
    problem = pliant.Problem(PRIOR, in_jax, np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), 5)
    few, many = (simulate_sets(KEY, problem, z, n)[0] for n in (2, 6))
    np.testing.assert_array_equal(few, many[:, :2])
