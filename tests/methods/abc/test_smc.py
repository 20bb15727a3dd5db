"""SMC-ABC against the exact ABC posterior, and its weights against the paper's formulas."""

import dataclasses

import jax
import numpy as np
import pytest

import pliant
from pliant.methods.abc.population import Population, resampled
from pliant.methods.abc.sequence import shrunk

KERNELS = [
    pliant.UniformKernel(),
    pliant.ExponentialKernel(),
    pliant.GaussianKernel(),
    pliant.EpanechnikovKernel(),
]


def smc(**options):
    settings = {"rounds": 40, "n_particles": 2000, "discrepancy": pliant.Euclidean()}
    return pliant.SMCABC(**{**settings, **options})


@pytest.fixture
def population():
    rng = np.random.default_rng(0)
    log_weights = np.log(rng.gamma(2.0, size=12))
    log_weights[3] = -np.inf
    return Population(
        z=rng.normal(size=(12, 2)),
        log_prior=np.zeros(12),
        distance=rng.gamma(2.0, size=12),
        log_weights=log_weights,
        bandwidth=10.0,
    )


@pytest.mark.parametrize("tolerance", [0.05, 1.0])
def test_meets_the_abc_posterior_at_a_tolerance(conjugate, tolerance):
    result = pliant.infer(conjugate.problem, smc(tolerance=tolerance), seed=0)
    assert result.status == "reached_tolerance"
    last = result.history[-1]
    assert last["bandwidth"] == tolerance
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    mean, sd = conjugate.moments(tolerance)
    # 2000 particles, some of them copies: as good as 500 independent ones, three errors
    assert draws.mean() == pytest.approx(mean, abs=0.13 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def test_smooth_kernels_meet_their_posterior(conjugate):
    """``exp(-(s - c)^2 / (2 h))`` adds the variance h to that of s: a conjugate posterior again."""
    h = 0.3
    method = smc(kernel=pliant.ExponentialKernel(), tolerance=h)
    draws = pliant.infer(conjugate.problem, method, seed=0).posterior.sample(50_000)["mu"]
    observed = np.asarray(conjugate.problem.observed)
    precision = 1 + 1 / (1 / len(observed) + h)
    mean, sd = observed.mean() * (precision - 1) / precision, precision**-0.5
    assert draws.mean() == pytest.approx(mean, abs=0.13 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def test_nothing_to_learn_leaves_the_prior(uninformative):
    """Thirty rounds of reweighing, resampling and moving do not change the prior."""
    result = pliant.infer(uninformative, smc(rounds=30), seed=0)
    assert len(result.history) == 30
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    assert draws.mean() == pytest.approx(0, abs=0.15)  # as above, for more rounds
    assert draws.std() == pytest.approx(1, rel=0.1)


def brute_force_ess(weights):
    return sum(weights) ** 2 / sum(w**2 for w in weights)


def test_uniform_bandwidth_is_the_smallest_that_keeps_enough(population):
    """Against every candidate in turn, with the paper's w_t = w_{t-1} 1{D <= h_t}."""
    weights = 1.0 * population.alive  # equal ones, as this kernel leaves them
    log_weights = np.where(population.alive, 0.0, -np.inf)
    population = dataclasses.replace(population, log_weights=log_weights)
    wanted = 0.5 * brute_force_ess(weights)
    candidates = sorted(population.distance[population.alive])
    expected = next(
        h for h in candidates if brute_force_ess(weights * (population.distance <= h)) >= wanted
    )
    after = shrunk(population, pliant.UniformKernel(), alpha=0.5, tolerance=None)
    assert after.bandwidth == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(
        np.exp(after.log_weights), weights * (population.distance <= expected)
    )


@pytest.mark.parametrize("kernel", KERNELS[1:], ids=lambda k: type(k).__name__)
def test_smooth_weights_follow_the_table_of_backward_kernels(population, kernel):
    after = shrunk(population, kernel, alpha=0.7, tolerance=None)
    assert after.bandwidth < population.bandwidth
    k_after, k_before = (
        np.exp(kernel.log_value(population.distance, h))
        for h in (after.bandwidth, population.bandwidth)
    )
    expected = np.exp(population.log_weights) * k_after / k_before
    np.testing.assert_allclose(np.exp(after.log_weights), expected, rtol=1e-10)
    assert after.ess == pytest.approx(0.7 * population.ess, rel=1e-6)


def test_tolerance_bounds_the_bandwidth_and_negative_distances_are_fine(population):
    uniform = pliant.UniformKernel()
    assert shrunk(population, uniform, alpha=0.5, tolerance=9.0).bandwidth == 9.0
    assert shrunk(population, uniform, alpha=0.5, tolerance=11.0).bandwidth == 10.0
    shifted = dataclasses.replace(population, distance=population.distance - 100)
    low, high = (shrunk(p, uniform, alpha=0.5, tolerance=None) for p in (shifted, population))
    assert low.bandwidth == pytest.approx(high.bandwidth - 100)
    smooth = shrunk(shifted, pliant.ExponentialKernel(), alpha=0.5, tolerance=None)
    assert smooth.bandwidth > 0
    assert smooth.ess == pytest.approx(0.5 * population.ess, rel=1e-6)


def test_resampling_keeps_expectations(population):
    weights = np.exp(population.log_weights) / np.exp(population.log_weights).sum()
    counts = np.zeros(12)
    for seed in range(400):
        chosen = resampled(jax.random.key(seed), population)
        assert np.all(chosen.log_weights == 0)
        each = (chosen.z[:, None] == population.z).all(axis=2).sum(axis=0)
        assert np.all(np.abs(each - 12 * weights) < 1)
        counts += each
    # a count is a floor or a ceiling, so its deviation is at most a half: 0.025 for the mean
    np.testing.assert_allclose(counts / 400, 12 * weights, atol=0.1)


def test_copies_are_counted(population):
    assert population.unique == 11  # one of the twelve is dead
    copies = resampled(jax.random.key(0), population)
    assert copies.unique == len({tuple(z) for z in copies.z}) < 11
    assert copies.ess == pytest.approx(12)


def test_a_run_that_hardly_accepts_says_so(conjugate):
    result = pliant.infer(conjugate.problem, smc(rounds=60, min_acceptance=0.4), seed=0)
    assert result.status == "low_acceptance"
    assert "below 40.00%" in result.message
    assert "MHABC" in result.message
    assert result.history[-1]["acceptance"] < 0.4
    assert np.all(result.history["acceptance"][:-1] >= 0.4)
    assert np.all(np.diff(result.history["bandwidth"]) <= 0)
