"""MH-ABC against the exact ABC posterior, and the counts of its tries."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.methods.abc import sampler as abc_sampler
from pliant.methods.abc.mh import count_tries
from pliant.methods.abc.population import Population


def mh(**options):
    settings = {"rounds": 40, "n_particles": 1000, "discrepancy": pliant.Euclidean()}
    return pliant.MHABC(**{**settings, **options})


@pytest.mark.parametrize("tolerance", [0.05, 1.0])
def test_meets_the_abc_posterior_at_a_tolerance(conjugate, tolerance):
    result = pliant.infer(conjugate.problem, mh(tolerance=tolerance, alpha=0.6), seed=0)
    assert result.status == "reached_tolerance"
    assert result.history[-1]["acceptance"] > 0.2  # whatever the tolerance
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    mean, sd = conjugate.moments(tolerance)
    # 1000 particles, some of them copies: as good as 500 independent ones, three errors
    assert draws.mean() == pytest.approx(mean, abs=0.13 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def test_nothing_to_learn_leaves_the_prior(uninformative):
    result = pliant.infer(uninformative, mh(rounds=12, alpha=0.6), seed=0)
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    assert draws.mean() == pytest.approx(0, abs=0.15)
    assert draws.std() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("max_tries", [2, 100])
def test_a_move_leaves_its_target_as_it_is(conjugate, max_tries):
    """Even if most particles run out of tries: the limit is the same on both sides."""
    h, problem = 0.05, conjugate.problem
    mu = jnp.asarray(conjugate.draw(h, 1000), float)
    z = np.asarray(jax.vmap(problem.prior.space.unconstrain)({"mu": mu}), np.float64)
    method = mh(max_tries=max_tries)
    state, _ = method.init(jax.random.key(0), problem)
    population = Population(
        z=z,
        log_prior=np.asarray(problem.prior.log_prob(jnp.asarray(z, float)), np.float64),
        distance=np.full(1000, h),
        log_weights=np.zeros(1000),
        bandwidth=h,
    )
    rows = []
    for step in range(15):
        moved = method.move(jax.random.key(step), problem, state, population)
        population = moved.population
        rows.append(moved.row)
        assert np.all(population.distance <= h)
    if max_tries == 2:
        assert min(row["capped"] for row in rows) > 500
    space = problem.prior.space
    draws = np.asarray(jax.vmap(space.constrain)(jnp.asarray(population.z, float))["mu"])
    mean, sd = conjugate.moments(h)
    # the start has errors of 0.03 and 0.02, and the moves add as much
    assert draws.mean() == pytest.approx(mean, abs=0.12 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.09)


@pytest.fixture(scope="module")
def coin():
    """Draws on (0, 1) and an observation at zero: D = x^2 is at most p^2 with probability p."""
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: 0 * theta["mu"] + jax.random.uniform(key),
        jnp.zeros(1),
        scale=None,
    )


def tries_of(problem, *, hits, p, limit, n=1000):
    method = mh(n_particles=n)
    state, _ = method.init(jax.random.key(0), problem)
    z, limits = jnp.zeros((n, 1)), np.full(n, limit)
    return method.try_until(jax.random.key(1), problem, state, z, p**2, hits=hits, limit=limits)


@pytest.mark.parametrize(("hits", "p"), [(1, 0.3), (2, 0.2)])
def test_tries_are_negative_binomial(coin, hits, p):
    made = tries_of(coin, hits=hits, p=p, limit=10_000)
    assert np.all(made.found == hits)
    assert np.all(made.distance <= p**2)
    mean, variance = hits / p, hits * (1 - p) / p**2
    assert made.tries.mean() == pytest.approx(mean, abs=4 * (variance / 1000) ** 0.5)
    assert made.tries.var() == pytest.approx(variance, rel=0.3)  # four errors of a skewed one
    # (r - 1) / (n - 1) is unbiased for p, which is what the acceptance ratio rests on
    if hits == 2:
        assert np.mean(1 / (made.tries - 1)) == pytest.approx(p, abs=0.03)


def test_tries_are_limited(coin):
    made = tries_of(coin, hits=1, p=0.3, limit=3)
    missed = made.found == 0
    assert missed.mean() == pytest.approx(0.7**3, abs=4 * (0.343 * 0.657 / 1000) ** 0.5)
    assert np.all(made.tries[missed] == 3)
    assert np.all(np.isinf(made.distance[missed]))
    assert len(made.passes) <= 3
    none = tries_of(coin, hits=1, p=0.3, limit=0)
    assert len(none.passes) == none.tries.sum() == 0


def test_counting_by_hand():
    nan = np.nan
    table = np.array([[5, 1, 9, 9], [1, 9, 9, 9], [2, 1, 9, 9], [1, 9, 1, nan]], float)
    made, hit, last = count_tries(
        table, 3.0, wanted=np.array([2, 2, 1, 1]), allowed=np.array([9, 9, 2, 9])
    )
    np.testing.assert_array_equal(made, [3, 3, 2, 3])
    np.testing.assert_array_equal(hit, [2, 2, 0, 0])
    np.testing.assert_array_equal(last[:2], [2, 1])


def test_simulations_are_counted_truly(conjugate, monkeypatch):
    made, real = [], abc_sampler.measure_parameters

    def spy(*arguments, **options):
        made.append(len(arguments[3]) * arguments[4].n_draws)
        return real(*arguments, **options)

    monkeypatch.setattr(abc_sampler, "measure_parameters", spy)
    method = mh(rounds=4)
    history = pliant.infer(conjugate.problem, method, seed=0).history
    assert history[-1]["simulations"] == sum(made)
    cost = np.diff(history["simulations"], prepend=0)
    assert cost[0] == 1000 * 5
    assert np.all(cost[1:] >= 5 * history["tries"][1:])
    assert np.all(cost <= method.simulations_per_round(conjugate.problem))


def test_running_out_of_tries_is_a_status(conjugate):
    method = mh(max_tries=2, min_acceptance=0.1, alpha=0.6)
    result = pliant.infer(conjugate.problem, method, seed=0)
    assert result.status == "low_acceptance"
    assert "raise max_tries=2" in result.message
    assert result.history[-1]["capped"] > 250
