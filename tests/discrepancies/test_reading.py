import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.reading import fit_reading, read_observed
from pliant.problem.sets import simulate_sets

KEY = jax.random.key(0)
Z = jax.random.normal(jax.random.key(1), (200, 1))
PRIOR = {"mu": dist.Normal(0, 1)}
CHOICE, COUNT = np.array([0.0, 1.0, 1.0, 0.0]), np.array([3.0, 50.0, 0.0, 7.0])


def mixed(key, theta):
    keys = jax.random.split(key, 3)
    return {
        "choice": jax.random.bernoulli(keys[0]),
        "time": theta["mu"] + jax.random.normal(keys[1], (2,)),
        "count": jax.random.poisson(keys[2], 20.0),
    }


def mixed_problem():
    observed = {"choice": CHOICE.astype(bool), "time": np.ones((4, 2)) / 3, "count": COUNT}
    return pliant.Problem(PRIOR, mixed, observed)


def test_categories_counts_and_numbers_are_told_apart():
    problem = mixed_problem()
    draws = simulate_sets(KEY, problem, Z, 5)
    reading = fit_reading(problem, draws, by_kind=True)
    np.testing.assert_array_equal(reading.categories, [0])
    np.testing.assert_array_equal(reading.numbers, [1, 2, 3])
    np.testing.assert_array_equal(reading.counts, [False, False, True])
    assert reading.n_kinds == 3  # two, and whatever else may come

    read = read_observed(reading, problem, KEY)
    np.testing.assert_array_equal(read.kind, CHOICE)
    np.testing.assert_allclose(read.rows[:, :2], 1 / 3, rtol=1e-6)
    assert np.all(np.abs(read.rows[:, 2] - COUNT) <= 0.5)
    assert read.own.shape == (4, 0)
    simulated = reading.read(KEY, problem, draws)
    np.testing.assert_array_equal(simulated.kind, draws.x[..., 0])
    assert simulated.rows.shape == (200, 5, 3)


def test_a_category_that_was_never_seen_is_the_last_kind():
    problem = mixed_problem()
    draws = simulate_sets(KEY, problem, Z, 5)
    reading = fit_reading(problem, draws, by_kind=True)
    x = draws.x.copy()
    x[0, 0, 0] = 2.0
    assert reading.read(KEY, problem, draws._replace(x=x)).kind[0, 0] == 2


def test_without_kinds_all_features_are_numbers():
    problem = mixed_problem()
    reading = fit_reading(problem, simulate_sets(KEY, problem, Z, 5), by_kind=False)
    np.testing.assert_array_equal(reading.numbers, np.arange(4))
    np.testing.assert_array_equal(reading.counts, [True, False, False, True])
    assert reading.n_kinds == 0


def test_too_many_combinations_of_categories_are_counts():
    def bits(key, theta):
        return jax.random.bernoulli(key, 0.5, (6,)).astype(int)

    problem = pliant.Problem(PRIOR, bits, np.zeros((3, 6), int))
    reading = fit_reading(problem, simulate_sets(KEY, problem, Z, 20), by_kind=True)
    assert reading.n_kinds == 0
    np.testing.assert_array_equal(reading.counts, True)


def late(key, theta):
    x = theta["mu"] + jax.random.normal(key, (2,))
    return jnp.where(x[0] > 1, jnp.nan, x)


@pytest.mark.parametrize("conditions", [None, np.array([0.0, 1.0, 2.0])], ids=["alike", "each"])
def test_what_a_simulator_leaves_out_is_a_kind(conditions):
    def simulator(key, theta, condition=0.0):
        return late(key, {"mu": theta["mu"] + condition})

    observed = np.array([[0.5, 0.2], [np.nan, np.nan], [0.1, 3.0]])
    options = {"missing": "simulated", "conditions": conditions}
    problem = pliant.Problem(PRIOR, simulator, observed, **options)
    draws = simulate_sets(KEY, problem, Z, 5)
    assert np.all(draws.ok)
    assert 0.1 < np.mean(draws.seen) < 0.9
    reading = fit_reading(problem, draws, by_kind=True)
    read = read_observed(reading, problem, KEY)
    assert read.kind[0] == read.kind[2] != read.kind[1]
    np.testing.assert_array_equal(read.seen, [[True] * 2, [False] * 2, [True] * 2])
    assert read.own.shape[1] == (conditions is not None)
    simulated = reading.read(KEY, problem, draws)
    whole = np.asarray(draws.seen).all(axis=-1)
    assert set(np.unique(simulated.kind[whole])).isdisjoint(simulated.kind[~whole])


def test_conditions_and_gaps_by_design_are_what_a_draw_was_made_under():
    observed = np.array([[0.5, np.nan], [0.2, 0.1], [0.1, 3.0]])
    problem = pliant.Problem(
        PRIOR,
        lambda key, theta, c: theta["mu"] + c + jax.random.normal(key, (2,)),
        observed,
        conditions=[0.0, 1.0, 2.0],
        missing=True,
    )
    draws = simulate_sets(KEY, problem, Z, 4)
    reading = fit_reading(problem, draws, by_kind=True)
    assert reading.n_kinds == 0
    read = reading.read(KEY, problem, draws)
    np.testing.assert_allclose(
        read.own[..., 0], (np.asarray(draws.under) - 1) * 1.5**0.5, rtol=1e-5
    )
    np.testing.assert_array_equal(read.own[..., 1], np.asarray(draws.under) != 0)
    np.testing.assert_array_equal(read.seen[..., 1], np.asarray(draws.under) != 0)


def test_too_many_ways_of_leaving_out_are_refused():
    def gaps(key, theta):
        x = jax.random.normal(key, (8,))
        return jnp.where(x > 0, x, jnp.nan)

    problem = pliant.Problem(PRIOR, gaps, np.ones((2, 8)), missing="simulated")
    with pytest.raises(ValueError, match=r"leaves numbers out in .* different ways"):
        fit_reading(problem, simulate_sets(KEY, problem, Z, 5), by_kind=True)
