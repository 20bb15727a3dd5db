"""PLI on a small conjugate problem, and what it does when things go wrong."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.scale import feature_divisors

N = 20
NOISE = 0.5


def simulator(key, theta):
    return theta["mu"] + NOISE * jax.random.normal(key, (2,))


@pytest.fixture(scope="module")
def problem():
    x = jnp.array([[0.7, -0.4]]) + NOISE * jax.random.normal(jax.random.key(5), (N, 2))
    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    return pliant.Problem(prior=prior, simulator=simulator, observed=x, scale=None)


def small(**options):
    settings = {
        "rounds": 3,
        "n_particles": 300,
        "n_draws": 20,
        "discrepancy": pliant.MMD(),
        "family": pliant.Gaussian(),
    }
    return pliant.PLI(**{**settings, **options})


def samples(result):
    return result.posterior.sample(500, seed=1)["mu"]


def test_meets_the_pseudo_posterior(problem):
    """With beta where a shift is weighed as the likelihood weighs it, PLI is nearly exact.

    For a shift d of a Gaussian of variance s^2 in two dimensions, a kernel of lengthscale l has
    MMD^2 = (l / (l + 2 s^2)) d^2 / (l + 2 s^2) to second order.
    """
    lengths = np.array(pliant.MMD().lengthscales)
    variance = NOISE**2
    beta = variance / N * np.sum(lengths / (lengths + 2 * variance) ** 2)
    method = small(rounds=12, n_particles=1500, n_draws=100, beta=float(beta))
    draws = pliant.infer(problem, method, seed=0).posterior.sample(20_000, seed=1)["mu"]
    precision = 1 + N / variance
    exact_mean = np.asarray(problem.observed).sum(axis=0) / variance / precision
    # 1500 particles leave about 0.05 sd of noise; MMD weighs more than the mean
    np.testing.assert_allclose(draws.mean(0), exact_mean, atol=0.5 * precision**-0.5)
    np.testing.assert_allclose(draws.std(0), precision**-0.5, rtol=0.2)


@pytest.mark.default_flags
def test_chunks_do_not_change_the_result(problem):
    whole, chunked = (
        pliant.infer(problem, small(rounds=2, chunk_size=size), seed=3) for size in (None, 7)
    )
    np.testing.assert_array_equal(samples(chunked), samples(whole))
    np.testing.assert_array_equal(chunked.history["kl"], whole.history["kl"])


def test_seeds(problem):
    first, again, other = (pliant.infer(problem, small(), seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(samples(first), samples(again))
    assert np.abs(samples(first) - samples(other)).max() > 1e-3


@pytest.mark.parametrize(
    "discrepancy",
    [
        pliant.MMD(lengthscales="median"),
        pliant.Wasserstein(),
        pliant.SlicedWasserstein(n_projections=20),
        pliant.Energy(),
        pliant.Euclidean(),
    ],
    ids=lambda d: type(d).__name__,
)
def test_every_discrepancy_moves_towards_the_truth(problem, discrepancy):
    method = small(rounds=5, discrepancy=discrepancy, beta=0.02)
    draws = samples(pliant.infer(problem, method, seed=0))
    centre = np.asarray(problem.observed).mean(axis=0)
    # the prior's sd is one and its mean 0.8 away from the data
    assert np.linalg.norm(draws.mean(0) - centre) < 0.3
    assert draws.std(0).max() < 0.6


@pytest.mark.parametrize(
    "schedule", [pliant.Fixed(), pliant.Quantile(0.3), pliant.EffectiveSampleSize(0.5)]
)
def test_every_schedule_runs(problem, schedule):
    result = pliant.infer(problem, small(rounds=4, schedule=schedule, beta=0.05), seed=0)
    arrived = result.history["eta"][-1] == 0
    assert result.status == ("finished" if arrived else "cut_short")
    assert ("times its target" in result.message) == (not arrived)
    centre = np.asarray(problem.observed).mean(axis=0)
    assert np.linalg.norm(samples(result).mean(0) - centre) < 0.3
    assert np.all(np.diff(result.history["bandwidth"]) <= 1e-12)


def test_i_projection_agrees_with_the_m_projection(problem):
    """The target is close to a Gaussian, so that both projections are close to it."""
    options = {"rounds": 6, "n_particles": 1000, "n_draws": 50, "beta": 0.02}
    m, i = (
        pliant.infer(problem, small(projection=p, **options), seed=0).posterior.summary()
        for p in ("m", "i")
    )
    np.testing.assert_allclose(i.mean, m.mean, atol=0.5 * m.sd.min())
    np.testing.assert_allclose(i.sd, m.sd, rtol=0.3)


def test_partition_function_is_reported_and_changes_the_weights(problem):
    plain = pliant.infer(problem, small(rounds=1), seed=0)
    for n_particles in (50, None):
        partition = pliant.PartitionFunction(n_sets=8, n_particles=n_particles)
        corrected = pliant.infer(problem, small(rounds=1, partition=partition), seed=0)
        assert -1 <= corrected.history[0]["spearman"] < 1
        assert ("partition_fit" in corrected.history[0]) == (n_particles is not None)
        assert corrected.history[0]["simulations"] == plain.history[0]["simulations"] + 100
        assert np.abs(samples(plain) - samples(corrected)).max() > 1e-3
    assert "spearman" not in plain.history[0]
    assert "partition_fit" not in plain.history[0]


def test_the_chunk_size_changes_no_bit_with_a_partition_function(problem):
    """Nor does it with earlier rounds' particles, which have a Z of their own."""
    partition = pliant.PartitionFunction(n_sets=20, n_particles=30)
    method = small(rounds=2, partition=partition, reuse=1)
    whole = pliant.infer(problem, method, seed=0)
    parts = pliant.infer(problem, dataclasses.replace(method, chunk_size=13), seed=0)
    np.testing.assert_array_equal(samples(whole), samples(parts))
    np.testing.assert_array_equal(whole.history["spearman"], parts.history["spearman"])
    np.testing.assert_array_equal(whole.history["partition_fit"], parts.history["partition_fit"])


def test_history_has_what_the_paper_plots(problem):
    history = pliant.infer(problem, small(), seed=0).history
    for name in ("eta", "bandwidth", "kl", "ess", "distance_median", "distance_se", "noise_share"):
        assert np.all(np.isfinite(history[name])), name
    assert list(history["round"]) == [1, 2, 3]
    assert list(history["simulations"]) == [6000, 12000, 18000]
    np.testing.assert_allclose(history["kl"], 1.0, atol=1e-3)


def test_a_simulator_that_only_fails_ends_in_a_status():
    broken = pliant.Problem(
        prior={"mu": dist.Normal(0, 1)},
        simulator=lambda key, theta: theta["mu"] * jnp.nan,
        observed=jnp.zeros(5),
        scale=None,
    )
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = pliant.infer(broken, small(), seed=0)
    assert result.status == "failed"
    assert "not finite" in result.message
    assert np.all(np.isfinite(result.posterior.sample(10)["mu"]))


def test_draws_that_fail_now_and_then_are_left_out(problem):
    def flaky(key, theta):
        bad = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.1)
        return jnp.where(bad, jnp.nan, simulator(key, theta))

    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    flawed = pliant.Problem(prior=prior, simulator=flaky, observed=problem.observed, scale=None)
    result = pliant.infer(flawed, small(), seed=0)
    assert result.status == "cut_short"  # by three rounds alone
    assert result.history[-1]["usable"] == pytest.approx(0.9, abs=0.02)
    whole = pliant.infer(problem, small(), seed=0)
    np.testing.assert_allclose(samples(result).mean(0), samples(whole).mean(0), atol=0.15)


@pytest.mark.parametrize(("scale", "pilot"), [("auto", 0), ("pilot", 1024)])
def test_scales_make_units_irrelevant(problem, scale, pilot):
    """Data in kibi-units give the same posterior as data in units, and a pilot is counted."""
    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    results = []
    for unit in (1.0, 1024.0):
        scaled = pliant.Problem(
            prior=prior,
            simulator=lambda key, theta, u=unit: u * simulator(key, theta),
            observed=unit * problem.observed,
            scale=scale,
        )
        results.append(pliant.infer(scaled, small(), seed=0))
        assert results[-1].history[0]["simulations"] == pilot + 6000
    np.testing.assert_allclose(samples(results[0]), samples(results[1]), rtol=1e-4, atol=1e-4)


def test_auto_scale_falls_back_to_a_pilot(problem):
    """Few observations, or a feature that does not vary, say nothing about the spread."""
    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    constant = problem.observed.at[:, 1].set(0.0)
    few, flat = (
        feature_divisors(jax.random.key(0), pliant.Problem(prior, simulator, x))
        for x in (problem.observed[:3], constant)
    )
    assert few[1] == flat[1] == 1024
    # the prior predictive has the variance 1 + NOISE^2; 1024 draws from 256 parameters
    np.testing.assert_allclose(few[0], np.hypot(1, NOISE), rtol=0.15)
    assert flat[0][1] == pytest.approx(few[0][1])
    assert flat[0][0] == pytest.approx(3 * NOISE, rel=0.5)


def test_defaults_follow_the_number_of_observations(problem):
    resolved = pliant.PLI(discrepancy=pliant.MMD()).resolved(problem)
    assert (resolved.n_draws, resolved.beta) == (100, 0.05 / N)
    resolved = pliant.PLI().resolved(problem)
    assert (resolved.n_draws, resolved.beta) == (200, 0.5 / N)
    paper = pliant.PLI.paper(N).resolved(problem)
    assert (paper.n_draws, paper.beta, paper.n_particles, paper.rounds) == (N, 5e-4, 5000, 20)


def test_single_draws_are_enough_for_a_distance_that_needs_no_more(problem):
    single = small(n_draws=1, discrepancy=pliant.Euclidean(), beta=0.1)
    result = pliant.infer(problem, single)
    assert not result.status.is_error
    centre = np.asarray(problem.observed).mean(axis=0)
    assert np.linalg.norm(samples(result).mean(axis=0) - centre) < 0.3  # the prior's is 0.8 away


# --- Budgets ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spread_problem():
    """A hundred observations whose mean and spread are not known."""
    return pliant.Problem(
        prior={"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        simulator=lambda key, theta: theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,)),
        observed=2 + jax.random.normal(jax.random.key(0), (100, 2)),
    )


def fitted(problem, budget, **options) -> Any:
    return pliant.PLI(discrepancy=pliant.MMD(), **options).within_budget(problem, budget)


def test_a_budget_picks_fewer_parameters_and_draws(spread_problem):
    method = fitted(spread_problem, 20_000)
    spent = method.rounds * method.n_particles * method.n_draws
    assert 0.95 * 20_000 <= spent <= 20_000
    assert method.n_draws < spread_problem.n_obs
    assert method.n_particles < 200
    assert method.reuse == method.rounds - 1
    for budget in (1000, 5000, 10**5, 10**6):
        method = fitted(spread_problem, budget)
        assert method.rounds * method.simulations_per_round(spread_problem) <= budget
    assert fitted(spread_problem, 10**9) == pliant.PLI(discrepancy=pliant.MMD())


def test_the_simulations_of_a_round_do_not_overflow(spread_problem):
    huge = pliant.PLI(n_particles=10**12, n_draws=10**12)
    assert huge.simulations_per_round(spread_problem) == 10**24


def test_what_is_given_stays(spread_problem):
    assert fitted(spread_problem, 20_000, n_particles=40).n_particles == 40
    assert fitted(spread_problem, 20_000, n_draws=7).n_draws == 7
    both = {"n_particles": 40, "n_draws": 7}
    assert fitted(spread_problem, 2000, **both) == pliant.PLI(discrepancy=pliant.MMD(), **both)
    assert fitted(spread_problem, 20_000, projection="i").reuse == 0
    learned: Any = pliant.PLI().within_budget(spread_problem, 20_000)
    assert learned.rounds * learned.simulations_per_round(spread_problem) <= 20_000
    assert learned.reuse == 0


def test_the_pilot_is_within_the_budget():
    few = pliant.Problem({"mu": dist.Normal(0, 1)}, lambda k, t: t["mu"][None], np.zeros((3, 1)))
    for discrepancy in (pliant.MMD(), None):
        method = pliant.PLI(discrepancy=discrepancy).within_budget(few, 3000)
        assert 1024 + method.rounds * method.simulations_per_round(few) <= 3000


def test_a_run_reports_the_budget_and_finds_the_parameters(spread_problem):
    """100 observations around 2: the exact posterior of mu has a spread of 0.07."""
    options = {"discrepancy": pliant.MMD(), "family": pliant.Gaussian()}
    method = pliant.PLI(noise_limit=None, **options)
    result = pliant.infer(spread_problem, method, max_simulations=20_000)
    spent = result.history[-1]["simulations"]
    assert 19_000 < spent <= 20_000
    assert f"{spent:,} of 20,000 simulations were used" in result.message
    mu = result.posterior.sample(4000)["mu"]
    assert abs(mu.mean() - 2.0) < 0.3
    assert 0.03 < mu.std() < 0.3
    method: Any = result.method
    assert result.history[-1]["ess"] > method.n_particles  # only with rounds before


@pytest.mark.wrong_types
def test_reuse_is_for_measured_distances():
    for wrong in (
        {"discrepancy": None},
        {"discrepancy": pliant.LikelihoodKL()},
        {"discrepancy": pliant.MMD(), "projection": "i"},
    ):
        with pytest.raises(ValueError, match="reuse"):
            pliant.PLI(reuse=2, **wrong)
    for wrong in (-1, 0.5, True):
        with pytest.raises((TypeError, ValueError), match="reuse"):
            dataclasses.replace(small(), reuse=wrong)
