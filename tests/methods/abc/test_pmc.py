"""PMC-ABC against the exact posterior, and its weights against the paper's formula."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import pliant
from pliant.methods.abc.pmc import closest
from pliant.methods.abc.population import Population

PERTURBATIONS = [None, pliant.GaussianMixture(components=5, starts=1)]


def pmc(**options):
    settings = {"rounds": 6, "n_particles": 2000, "discrepancy": pliant.Euclidean()}
    return pliant.PMCABC(**{**settings, **options})


@pytest.mark.parametrize("weights", ["round", "all"])
@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=["plain", "mixture"])
def test_meets_the_abc_posterior_at_its_bandwidth(conjugate, perturbation, weights):
    method = pmc(perturbation=perturbation, weights=weights)
    result = pliant.infer(conjugate.problem, method, seed=0)
    last = result.history[-1]
    mean, sd = conjugate.moments(last["bandwidth"])
    assert last["ess"] > 200
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    # four standard errors of the effective particles
    assert draws.mean() == pytest.approx(mean, abs=4 * sd / last["ess"] ** 0.5)
    assert draws.std() == pytest.approx(sd, rel=4 / (2 * last["ess"]) ** 0.5)
    assert sd == pytest.approx(conjugate.sd, rel=0.05)  # so this is the exact posterior, nearly


def test_nothing_to_learn_leaves_the_prior(uninformative):
    result = pliant.infer(uninformative, pmc(perturbation=None), seed=0)
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    ess = result.history[-1]["ess"]
    assert draws.mean() == pytest.approx(0, abs=4 / ess**0.5)
    assert draws.std() == pytest.approx(1, rel=4 / (2 * ess) ** 0.5)


def test_weights_are_the_prior_over_the_mixture_of_kernels(conjugate):
    """``w = p / sum_j (w_j / sum w) N(theta; theta_j, 2 C)``, by loops, in round two."""
    method = pmc(perturbation=None)
    problem = conjugate.problem
    start, _ = method.init(jax.random.key(0), problem)
    kept = method.step(jax.random.key(1), problem, start)
    after = method.step(jax.random.key(2), problem, kept.state)
    before, now = kept.state.population, after.state.population
    assert np.all(before.log_weights == 0)  # drawn from the prior

    variance = 2 * np.var(before.z[:, 0], ddof=1)
    new = ~np.isin(now.z[:, 0], before.z[:, 0])
    assert 200 < new.sum() < 1000
    z = now.z[new, 0]
    q = sum(norm.pdf(z, loc=centre, scale=variance**0.5) / 1000 for centre in before.z[:, 0])
    prior = np.exp(problem.prior.log_prob(now.z[new]))
    np.testing.assert_allclose(np.exp(now.log_weights[new]), prior / q, rtol=1e-4)
    old = np.isin(before.z[:, 0], now.z[:, 0])
    np.testing.assert_array_equal(now.log_weights[~new], before.log_weights[old])


def test_weights_by_all_proposals_are_the_prior_over_their_mean(conjugate):
    """By loops, in round three: 2000 draws of the prior, 1000 of each later proposal."""
    method = pmc(perturbation=None, weights="all")
    problem = conjugate.problem
    state, _ = method.init(jax.random.key(0), problem)
    for index in range(3):
        state = method.step(jax.random.key(1 + index), problem, state).state
    first, second = state.proposals
    now = state.population
    for z, log_weight in zip(now.z[::100], now.log_weights[::100], strict=True):
        prior = float(np.exp(problem.prior.log_prob(z[None]))[0])
        later = sum(
            float(np.exp(q.log_prob(jnp.asarray(z[None], float)))[0]) for q in (first, second)
        )
        assert np.exp(log_weight) == pytest.approx(prior / ((2 * prior + later) / 4), rel=1e-4)


def test_weights_by_all_proposals_have_a_larger_effective_sample_size(conjugate):
    """With a tenth kept, rounds draw from very different proposals."""
    ess = {
        weights: pliant.infer(conjugate.problem, pmc(alpha=0.1, weights=weights), seed=0).history[
            "ess"
        ][-1]
        for weights in ("round", "all")
    }
    assert ess["all"] > 1.2 * ess["round"]


def test_the_proposal_with_weights_in_two_dimensions():
    rng = np.random.default_rng(0)
    log_weights = rng.normal(size=100)
    population = Population(
        rng.normal(size=(100, 2)), np.zeros(100), rng.gamma(2.0, size=100), log_weights, 3.0
    )
    w = np.exp(log_weights) / np.exp(log_weights).sum()
    ess = 1 / np.sum(w**2)
    centred = population.z - w @ population.z
    covariance = (centred.T * w) @ centred / (1 - 1 / ess)
    covariance = covariance * (1 - 2 / ess) + np.diag(np.diag(covariance)) * 2 / ess  # shrunken
    points = rng.normal(size=(7, 2)).astype(np.float32)
    expected = [
        np.log(sum(wj * multivariate_normal.pdf(p, zj, 2 * covariance) for wj, zj in pairs))
        for p in points
        for pairs in [list(zip(w, population.z, strict=True))]
    ]
    plain = pmc(perturbation=None).proposal(jax.random.key(0), population)
    np.testing.assert_allclose(plain.log_prob(points), expected, atol=1e-4)

    mixture = pmc().proposal(jax.random.key(0), population)
    draws = np.asarray(mixture.sample(jax.random.key(1), 100_000))
    fitted, _ = pmc().perturbation.fit(
        jax.random.key(0), jnp.asarray(population.z), jnp.asarray(log_weights), None
    )
    narrow = np.asarray(fitted.sample(jax.random.key(1), 100_000))
    np.testing.assert_allclose(draws.mean(0), narrow.mean(0), atol=0.05)
    between = np.cov(fitted.components.mean.T, aweights=np.exp(fitted.logits), bias=True)
    wide, within = np.cov(draws.T) - between, np.cov(narrow.T) - between
    np.testing.assert_allclose(wide, 2 * within, atol=0.05)


def test_the_closest_are_kept():
    distance = np.array([3.0, 1.0, np.inf, 2.0])
    given = Population(np.arange(4.0)[:, None], np.zeros(4), distance, np.arange(4.0), np.inf)
    kept = closest(given, 2)
    np.testing.assert_array_equal(kept.z[:, 0], [1, 3])
    np.testing.assert_array_equal(kept.log_weights, [1, 3])
    assert kept.bandwidth == 2.0
    assert closest(given, 4).bandwidth == 3.0  # the largest that is known


def test_without_a_least_acceptance_all_rounds_are_made(conjugate):
    method = pmc(rounds=40, n_particles=200, min_acceptance=None, perturbation=None)
    result = pliant.infer(conjugate.problem, method, seed=0)
    assert len(result.history) == 40
    assert np.min(result.history["acceptance"]) < 0.015  # where the default would have ended it


def test_rounds_cost_what_is_new_and_the_acceptance_rate_ends_a_run(conjugate):
    method = pmc(rounds=50, min_acceptance=0.2, perturbation=None)
    result = pliant.infer(conjugate.problem, method, seed=0)
    assert result.status == "low_acceptance"
    assert "below 20.00%" in result.message
    assert result.history[-1]["acceptance"] <= 0.2
    assert np.all(result.history["acceptance"][:-1] > 0.2)
    assert np.all(np.diff(result.history["bandwidth"]) <= 0)
    assert list(result.history["simulations"][:3]) == [10_000, 15_000, 20_000]
    density: Any = result.posterior.density
    assert len(density.z) == result.history[-1]["unique"] == 1000
