"""PLI on a small conjugate problem, and what it does when things go wrong."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.base import Particles, RoundOptions
from pliant.discrepancies.measured import MeasuredState, measure_parameters
from pliant.methods.pli_report import is_settled
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
    settings = {"rounds": 3, "n_particles": 300, "n_draws": 20, "family": pliant.Gaussian()}
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
    method = pliant.PLI(
        rounds=12, n_particles=1500, n_draws=100, family=pliant.Gaussian(), beta=float(beta)
    )
    draws = pliant.infer(problem, method, seed=0).posterior.sample(20_000, seed=1)["mu"]
    precision = 1 + N / variance
    exact_mean = np.asarray(problem.observed).sum(axis=0) / variance / precision
    # 1500 particles leave about 0.05 sd of noise; MMD weighs more than the mean
    np.testing.assert_allclose(draws.mean(0), exact_mean, atol=0.5 * precision**-0.5)
    np.testing.assert_allclose(draws.std(0), precision**-0.5, rtol=0.2)


def test_a_calibrated_bandwidth_gives_the_width_of_the_resampled_mean(problem):
    """The minimum of MMD over shifts is nearly the mean, whose variance is that of x over N."""
    method = small(rounds=14, n_particles=2000, n_draws=200, beta="calibrated")
    result = pliant.infer(problem, method, seed=0)
    assert result.history["beta"][0] == pytest.approx(0.05 / N)
    resolved: Any = result.method.resolved(problem)
    assert resolved.beta == "calibrated"
    expected = np.asarray(problem.observed).std(axis=0) / N**0.5
    found = result.posterior.sample(20_000, seed=1)["mu"].std(axis=0)
    # one bandwidth for both coordinates, whose spreads differ; 2000 draws leave some per cent
    assert np.mean(found / expected) == pytest.approx(1, abs=0.15)


def test_a_calibrated_bandwidth_needs_a_metric_and_no_partition_function():
    with pytest.raises(ValueError, match=r"beta:.*Wasserstein cannot"):
        pliant.PLI(beta="calibrated", discrepancy=pliant.Wasserstein())
    with pytest.raises(ValueError, match="partition: it needs a fixed bandwidth"):
        pliant.PLI(beta="calibrated", partition=pliant.PartitionFunction())


def test_settled_is_a_proposal_that_the_weights_leave_in_place():
    z = np.random.default_rng(0).normal(size=(4000, 2))
    zeros = np.zeros(4000)
    given = Particles(z, zeros, zeros, zeros, zeros)
    assert is_settled(given, zeros)
    assert not is_settled(given, 0.4 * z[:, 0])  # moves a mean by 0.4
    assert not is_settled(given, -0.6 * z[:, 1] ** 2)  # narrows one to 0.67


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
    assert result.status == "finished"
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
    corrected = pliant.infer(
        problem, small(rounds=1, partition=pliant.PartitionFunction(n_sets=8)), seed=0
    )
    rank = corrected.history[0]["spearman"]
    assert -1 <= rank < 1
    assert "spearman" not in plain.history[0]
    assert np.abs(samples(plain) - samples(corrected)).max() > 1e-3


def test_history_has_what_the_paper_plots(problem):
    history = pliant.infer(problem, small(), seed=0).history
    for name in ("eta", "bandwidth", "kl", "ess", "distance_median", "distance_se", "noise_share"):
        assert np.all(np.isfinite(history[name])), name
    assert list(history["round"]) == [1, 2, 3]
    assert list(history["simulations"]) == [6000, 12000, 18000]
    np.testing.assert_allclose(history["kl"], 1.0, atol=1e-3)


def test_standard_error_is_that_of_repeated_simulation(problem):
    """Split halves of one set of draws tell how distances of new sets would spread."""
    discrepancy = pliant.MMD()
    state = MeasuredState(discrepancy, discrepancy.prepare(problem.observed))
    z = jnp.tile(problem.prior.sample(jax.random.key(0), 1), (256, 1))
    measured = measure_parameters(jax.random.key(1), problem, state, z, RoundOptions(20))
    # both are estimated from 256 sets: relative errors of some ten per cent
    assert measured.row["distance_se"] == pytest.approx(measured.distance.std(), rel=0.3)


def test_a_simulator_that_only_fails_ends_in_a_status():
    broken = pliant.Problem(
        prior={"mu": dist.Normal(0, 1)},
        simulator=lambda key, theta: theta["mu"] * jnp.nan,
        observed=jnp.zeros(5),
        scale=None,
    )
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
    assert result.status == "finished"
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


def test_too_few_draws_for_the_discrepancy(problem):
    with pytest.raises(ValueError, match=r"n_draws.*Euclidean"):
        pliant.infer(problem, small(n_draws=1))
    single = small(n_draws=1, discrepancy=pliant.Euclidean(), beta=0.1)
    assert pliant.infer(problem, single).status == "finished"


def test_defaults_follow_the_number_of_observations(problem):
    resolved = pliant.PLI().resolved(problem)
    assert (resolved.n_draws, resolved.beta) == (100, 0.05 / N)
    paper = pliant.PLI.paper(N).resolved(problem)
    assert (paper.n_draws, paper.beta, paper.n_particles, paper.rounds) == (N, 5e-4, 5000, 20)
