"""Simulated sets: chunks change no bit, the last one is padded, and no slow draw is wasted."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem import sets
from pliant.problem.sets import (
    Draws,
    check_chunks,
    check_particles,
    check_sets,
    chunks_of,
    machine_memory,
    simulate_chunks,
    simulate_sets,
)

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
    x, ok, *_ = simulate_sets(KEY, problem, z, 3)
    assert x.shape == (7, 3, 2)
    assert ok.all()
    for size in (1, 2, 7, 100):
        chunks = list(simulate_chunks(KEY, problem, z, 3, chunk_size=size))
        assert [chunk.start for chunk in chunks] == list(range(0, 7, min(size, 7)))
        together = np.concatenate([chunk.draws.x[: chunk.rows] for chunk in chunks])
        np.testing.assert_array_equal(together, x)


def test_all_chunks_have_one_size_and_slow_draws_are_not_wasted():
    problem = pliant.Problem(PRIOR, SIMULATORS["python"], np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), 7)
    calls.clear()
    chunks = list(simulate_chunks(KEY, problem, z, 3, chunk_size=4))
    sizes = [(rows, len(draws.x), len(draws.ok)) for _, rows, draws in chunks]
    assert sizes == [(4, 4, 4), (3, 4, 4)]
    assert len(calls) == 7 * 3
    last = chunks[1].draws.x
    np.testing.assert_array_equal(last[3], last[2])  # padding repeats the last


def test_sets_that_are_there_are_cut_into_the_same_chunks(problem):
    z = problem.prior.sample(jax.random.key(0), 7)
    x = simulate_sets(KEY, problem, z, 3).x
    ok = np.arange(21).reshape(7, 3) % 4 > 0
    for size in (1, 4, 7, 100):
        chunks = list(chunks_of(Draws(x, ok), size))
        assert [chunk.start for chunk in chunks] == list(range(0, 7, size))
        assert {len(draws.x) for *_, draws in chunks} == {size}
        assert {len(draws.ok) for *_, draws in chunks} == {size}
        for name, whole in (("x", x), ("ok", ok)):
            parts = [getattr(chunk.draws, name)[: chunk.rows] for chunk in chunks]
            np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_more_draws_begin_with_the_same():
    problem = pliant.Problem(PRIOR, in_jax, np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), 5)
    few, many = (simulate_sets(KEY, problem, z, n)[0] for n in (2, 6))
    np.testing.assert_array_equal(few, many[:, :2])


@pytest.mark.parametrize(
    ("function", "n", "warns"),
    [
        (lambda key, theta: theta["mu"] * np.ones(2), 20, True),
        (lambda key, theta: theta["mu"] * np.ones(2), 19, False),
        (lambda key, theta: np.zeros(2), 30, False),  # rare events: they coincide
        (lambda key, theta: jax.random.bernoulli(key, 0.5, (2,)) * 1.0, 30, False),
        (lambda key, theta: in_jax(key, theta).at[0].set(theta["mu"]), 30, False),
    ],
)
def test_a_simulator_that_ignores_its_key_is_noticed(function, n, warns):
    problem = pliant.Problem(PRIOR, function, np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulate_sets(KEY, problem, z, 3)
        simulate_sets(KEY, problem, z, 1)
    assert [str(w.message)[:32] for w in caught] == ["simulator: all 3 draws of each o"] * warns


def test_sets_that_do_not_fit_into_memory_are_refused_before_the_first_draw(monkeypatch):
    problem = pliant.Problem(PRIOR, SIMULATORS["python"], np.zeros((4, 2)))
    z = problem.prior.sample(jax.random.key(0), 1000)
    assert 2**26 < machine_memory() < 2**60
    monkeypatch.setattr(sets, "machine_memory", lambda: 2**32)
    calls.clear()
    expected = r"n_draws: 10,000,000 draws for one parameter take about 1.04 GiB, .*\(4 GiB\)"
    with pytest.raises(ValueError, match=expected):
        next(simulate_chunks(KEY, problem, z, 10_000_000))
    with pytest.raises(ValueError, match="a chunk of 1000 parameters"):
        next(simulate_chunks(KEY, problem, z, 10_000, chunk_size=1000))
    with pytest.raises(ValueError, match="200,000 draws for each of 1,000 parameters take"):
        simulate_sets(KEY, problem, z, 200_000)
    assert not calls
    next(simulate_chunks(KEY, problem, z, 3, chunk_size=5))
    assert calls


def test_the_number_in_the_message_fits(monkeypatch):
    problem = pliant.Problem(PRIOR, in_jax, np.zeros((4, 2)))
    monkeypatch.setattr(sets, "machine_memory", lambda: 2**32)
    with pytest.raises(ValueError, match=r"Use n_draws of 900,000 at most\.$"):
        check_chunks(problem, 100, 10_000_000, numbers_per_draw=270)
    assert check_chunks(problem, 100, 900_000, numbers_per_draw=270) < 100
    with pytest.raises(ValueError, match=r"^n_particles: .* Use n_particles of 130 at most\.$"):
        check_sets(problem, 1000, 1_000_000, limited="n_particles")
    check_sets(problem, 130, 1_000_000, limited="n_particles")
    with pytest.raises(ValueError, match=r"^n_particles: 1,000.* Use n_particles of 2,900,000 at"):
        check_particles(problem, 10**18)
    check_particles(problem, 2_900_000)


def test_particles_without_room_for_one_draw_each_are_too_many(monkeypatch):
    problem = pliant.Problem(PRIOR, lambda key, theta: jnp.zeros(1000), np.zeros((4, 1000)))
    monkeypatch.setattr(sets, "machine_memory", lambda: 2**32)
    with pytest.raises(ValueError, match=r"^n_particles: .* Use n_particles of 260,000 at most\.$"):
        check_sets(problem, 1_000_000, 1)


def test_a_small_machine_takes_smaller_chunks(monkeypatch):
    problem = pliant.Problem(PRIOR, in_jax, np.zeros((4, 2)))
    usual = check_chunks(problem, 100, 100_000)
    monkeypatch.setattr(sets, "machine_memory", lambda: 2**30)
    assert 1 < check_chunks(problem, 100, 100_000) < usual
