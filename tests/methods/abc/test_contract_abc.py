"""What every ABC sampler promises: seeds, chunks, rows, files, and statuses."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.run.history import COLUMNS

SMALL = {"rounds": 4, "n_particles": 50, "discrepancy": pliant.Euclidean()}
METHODS = {
    "rejection": pliant.RejectionABC(quantile=0.25, **SMALL),
    "smc": pliant.SMCABC(kernel=pliant.GaussianKernel(), **SMALL),
    "pmc": pliant.PMCABC(**{**SMALL, "n_particles": 100}),  # keeps 50: one shape for all
    "mh": pliant.MHABC(**SMALL),
}
ALL = pytest.mark.parametrize("name", METHODS)
PRIOR = {"mu": dist.Normal(0, 1)}


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key)


def broken(key, theta):
    return theta["mu"] * jnp.nan


def flaky(key, theta):
    bad = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.9)
    return jnp.where(bad, jnp.nan, simulator(key, theta))


@functools.cache
def problem(function):
    return pliant.Problem(PRIOR, function, jnp.linspace(0, 2, 5), scale=None)


@functools.cache
def run(name, *, seed=0, function=simulator, chunk_size=None):
    method = dataclasses.replace(METHODS[name], chunk_size=chunk_size)
    return pliant.infer(problem(function), method, seed=seed)


def samples(result):
    return result.posterior.sample(200, seed=1)["mu"]


@ALL
def test_chunks_do_not_change_the_result_and_seeds_do(name):
    result, other = run(name), run(name, seed=1)
    np.testing.assert_array_equal(samples(result), samples(run(name, chunk_size=7)))
    assert np.abs(samples(result) - samples(other)).max() > 1e-3


@ALL
def test_rows(name):
    history = run(name).history
    assert set(history.columns) <= set(COLUMNS)
    for column in ("bandwidth", "acceptance", "ess", "unique", "distance_median", "noise_share"):
        assert np.all(np.isfinite(history[column])), column
    assert np.all(history["unique"] <= METHODS[name].n_kept)
    assert str(history).count("\n") == 4


@ALL
def test_a_saved_posterior_comes_back(name, tmp_path):
    result = run(name)
    loaded = pliant.load(result.save(tmp_path))
    np.testing.assert_array_equal(samples(result), samples(loaded))
    theta = {"mu": np.linspace(-1, 2, 5)}
    np.testing.assert_array_equal(
        result.posterior.log_prob(theta), loaded.posterior.log_prob(theta)
    )
    assert loaded.method == result.method


@ALL
def test_the_posterior_can_be_used(name):
    posterior = run(name).posterior
    summary = posterior.summary()
    assert abs(posterior.map()["mu"] - summary.mean[0]) < 2 * summary.sd[0]
    assert posterior.to_arviz(10).posterior["mu"].shape == (1, 10)


@ALL
def test_a_simulator_that_only_fails_ends_in_a_status(name):
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = run(name, function=broken)
    assert result.status == "failed"
    assert "not finite" in result.message
    assert np.all(np.isfinite(result.posterior.sample(10)["mu"]))


@ALL
def test_draws_that_fail_now_and_then_are_left_out(name):
    """More than half of the sets have no usable draw at all."""
    result = run(name, function=flaky)
    assert result.status in ("cut_short", "finished", "low_acceptance")
    assert result.history[0]["usable"] == pytest.approx(0.1, abs=0.08)
    assert np.all(np.isfinite(samples(result)))


@pytest.mark.parametrize("name", ["smc", "pmc", "mh"])
def test_few_rounds_without_a_tolerance_are_no_success(name):
    """Four rounds: the bandwidth falls in each of them."""
    result = run(name)
    assert result.status == "cut_short"
    first, *_, last = result.history["bandwidth"]
    told = f"was still falling, in the last 3 rounds from {first:.4g} to {last:.4g}"
    assert told in result.message


@pytest.mark.parametrize("name", ["smc", "pmc", "mh"])
def test_a_tolerance_that_is_not_reached_is_told(name):
    method = dataclasses.replace(METHODS[name], tolerance=1e-6, rounds=2)
    with pytest.warns(pliant.PliantWarning, match=r"cut_short.*should be tolerance=1e-06"):
        result = pliant.infer(problem(simulator), method)
    assert f"The bandwidth is {result.history[-1]['bandwidth']:.3g}" in result.message


@ALL
def test_budgets_and_defaults(name):
    method = METHODS[name]
    assert method.resolved(problem(simulator)).n_draws == 5
    one_round = method.simulations_per_round(problem(simulator))
    result = pliant.infer(problem(simulator), method, max_simulations=one_round)
    assert result.status == "out_of_simulations"
    assert result.history[-1]["simulations"] <= one_round
    single = dataclasses.replace(method, n_draws=1, discrepancy=pliant.MMD())
    with pytest.raises(ValueError, match=r"n_draws.*Euclidean"):
        pliant.infer(problem(simulator), single)
