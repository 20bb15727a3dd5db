"""Rejection ABC against the exact ABC posterior, and its calibration."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.stats import kstest, norm

import pliant
from pliant.methods.abc import sampler as abc_sampler


def rejection(**options):
    settings = {"rounds": 4, "n_particles": 5000, "discrepancy": pliant.Euclidean()}
    return pliant.RejectionABC(**{**settings, **options})


def accepted(posterior):
    """The accepted mu, each once."""
    density = posterior.density
    z = density.z[np.asarray(density.weights) > 0]
    return np.asarray(jax.vmap(posterior.space.constrain)(z)["mu"])


def assert_moments(draws, mean, sd):
    """Within four standard errors of independent draws."""
    assert draws.mean() == pytest.approx(mean, abs=4 * sd / len(draws) ** 0.5)
    assert draws.std() == pytest.approx(sd, rel=4 / (2 * len(draws)) ** 0.5)


@pytest.mark.parametrize("tolerance", [0.01, 1.0])
def test_meets_the_abc_posterior_at_a_tolerance(conjugate, tolerance, tmp_path):
    result = pliant.infer(conjugate.problem, rejection(tolerance=tolerance), seed=0)
    draws = accepted(result.posterior)
    assert len(draws) == result.history[-1]["unique"] > 800
    assert_moments(draws, *conjugate.moments(tolerance))
    loaded = pliant.load(result.save(tmp_path))  # however many were accepted
    np.testing.assert_array_equal(accepted(loaded.posterior), draws)


def test_a_small_quantile_meets_the_exact_posterior(conjugate):
    result = pliant.infer(conjugate.problem, rejection(quantile=0.05), seed=0)
    draws = accepted(result.posterior)
    assert result.status == "finished"
    assert len(draws) == 1000
    assert_moments(draws, conjugate.mean, conjugate.sd)  # the tolerance adds 0.1 % of width


def test_acceptance_has_the_probability_of_the_kernel(conjugate):
    """``exp(-(s - c)^2 / (2 h))`` adds the variance h to that of s: a conjugate posterior again."""
    h = 0.3
    method = rejection(kernel=pliant.ExponentialKernel(), tolerance=h)
    draws = accepted(pliant.infer(conjugate.problem, method, seed=2).posterior)
    observed = np.asarray(conjugate.problem.observed)
    variance = 1 / len(observed) + h
    share = norm.pdf(observed.mean(), scale=(1 + variance) ** 0.5) * (2 * np.pi * h) ** 0.5
    assert len(draws) == pytest.approx(20_000 * share, rel=4 / len(draws) ** 0.5)
    precision = 1 + 1 / variance
    assert_moments(draws, observed.mean() / variance / precision, precision**-0.5)


def test_streaming_keeps_what_a_single_batch_would(conjugate, monkeypatch):
    """The best of all draws, and after each round those of the draws so far."""
    rows, measured, real = [], [], abc_sampler.measure_parameters

    def spy(*arguments, **options):
        measurement = real(*arguments, **options)
        measured.append((np.asarray(arguments[3]), measurement.distance))
        return measurement

    monkeypatch.setattr(abc_sampler, "measure_parameters", spy)
    method = rejection(rounds=5, n_particles=200, quantile=0.03)
    pliant.infer(
        conjugate.problem, method, callback=lambda row, posterior: rows.append((row, posterior))
    )
    for t, (row, posterior) in enumerate(rows, start=1):
        z, distance = (np.concatenate(part) for part in zip(*measured[:t], strict=True))
        best = np.argsort(distance)[: 6 * t]
        kept = posterior.density.z[np.asarray(posterior.density.weights) > 0]
        np.testing.assert_array_equal(np.sort(kept, axis=0), np.sort(z[best], axis=0))
        assert row["bandwidth"] == distance[best].max()
        assert row["acceptance"] == pytest.approx(0.03)
        assert len(posterior.density.z) == method.n_kept == 30


def test_everything_within_a_wide_tolerance_is_the_prior(conjugate):
    result = pliant.infer(conjugate.problem, rejection(rounds=1, tolerance=1e6), seed=0)
    assert result.history[-1]["acceptance"] == 1
    assert kstest(accepted(result.posterior), "norm").pvalue > 0.01


def test_ranks_are_uniform(conjugate):
    """Truths drawn from the prior fall anywhere among the posterior's samples, equally often."""
    method = rejection(rounds=1, n_particles=2000, quantile=0.05)
    ranks = []
    for seed in range(100):
        truth_key, data_key = jax.random.split(jax.random.key(1000 + seed))
        truth = jax.random.normal(truth_key, (1,))
        x, _ = conjugate.problem.simulator.simulate(data_key[None], {"mu": truth}, 5)
        problem = eqx.tree_at(lambda p: p.observed, conjugate.problem, x[0])
        posterior = pliant.infer(problem, method, seed=seed, progress=False).posterior
        ranks.append(np.mean(accepted(posterior) < float(truth[0])))
    # a hundred particles make a hundred steps: fine enough for a continuous test
    assert kstest(ranks, "uniform").pvalue > 0.01


def test_a_quantile_that_decides_the_width_is_no_success(conjugate):
    """Half of the prior: within a wide bandwidth, closer draws have closer parameters."""
    with pytest.warns(pliant.PliantWarning, match=r"cut_short.*quarter.*smaller quantile"):
        result = pliant.infer(conjugate.problem, rejection(rounds=1, quantile=0.5), seed=0)
    assert result.status == "cut_short"
    assert accepted(result.posterior).std() > 1.2 * conjugate.sd


def test_few_draws_within_the_tolerance_are_no_success(conjugate):
    method = rejection(rounds=1, n_particles=2000, tolerance=5e-5)
    result = pliant.infer(conjugate.problem, method, seed=0)
    assert 0 < result.history[-1]["unique"] < 10
    assert result.status == "cut_short"
    assert "of 2,000 draws were accepted, too few for a posterior" in result.message


def test_nothing_within_the_tolerance_is_a_status(conjugate):
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = pliant.infer(
            conjugate.problem, rejection(rounds=2, n_particles=200, tolerance=1e-9)
        )
    assert result.status == "failed"
    assert "tolerance=1e-09" in result.message
    assert "closest would need" in result.message
    with pytest.raises(ValueError, match="No round"):
        result.save("nowhere")
