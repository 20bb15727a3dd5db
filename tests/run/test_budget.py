import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant._importance import divergence_from_uniform, effective_sample_size, normalise
from pliant.densities.gaussian import GaussianDensity
from pliant.discrepancies.base import Particles
from pliant.weighting.reuse import EarlierRound, pooled


def simulator(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem(
        prior={"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        simulator=simulator,
        observed=2 + jax.random.normal(jax.random.key(0), (100, 2)),
    )


def fitted(problem, budget, **options) -> Any:
    return pliant.PLI(**options).within_budget(problem, budget)


def test_a_budget_picks_fewer_parameters_and_draws(problem):
    method = fitted(problem, 20_000)
    spent = method.rounds * method.n_particles * method.n_draws
    assert 0.95 * 20_000 <= spent <= 20_000
    assert method.n_draws < problem.n_obs
    assert method.n_particles < 200
    assert method.reuse == method.rounds - 1
    for budget in (1000, 5000, 10**5, 10**6):
        method = fitted(problem, budget)
        assert method.rounds * method.simulations_per_round(problem) <= budget
    assert fitted(problem, 10**9) == pliant.PLI()


def test_what_is_given_stays(problem):
    assert fitted(problem, 20_000, n_particles=40).n_particles == 40
    assert fitted(problem, 20_000, n_draws=7).n_draws == 7
    both = {"n_particles": 40, "n_draws": 7}
    assert fitted(problem, 2000, **both) == pliant.PLI(**both)
    assert fitted(problem, 20_000, projection="i").reuse == 0
    learned: Any = pliant.PLI.accurate().within_budget(problem, 20_000)
    assert learned.rounds * learned.simulations_per_round(problem) <= 20_000
    assert learned.reuse == 0
    sampler = pliant.SMCABC()
    assert sampler.within_budget(problem, 20_000) is sampler


def test_the_pilot_is_within_the_budget():
    few = pliant.Problem({"mu": dist.Normal(0, 1)}, lambda k, t: t["mu"][None], np.zeros((3, 1)))
    method = pliant.PLI().within_budget(few, 3000)
    assert 1024 + method.rounds * method.simulations_per_round(few) <= 3000


def test_a_run_reports_the_budget_and_finds_the_parameters(problem):
    """100 observations around 2: the exact posterior of mu has a spread of 0.07."""
    method = pliant.PLI(family=pliant.Gaussian(), noise_limit=None)
    result = pliant.infer(problem, method, max_simulations=20_000)
    spent = result.history[-1]["simulations"]
    assert 19_000 < spent <= 20_000
    assert f"{spent:,} of 20,000 simulations were used" in result.message
    mu = result.posterior.sample(4000)["mu"]
    assert abs(mu.mean() - 2.0) < 0.3
    assert 0.03 < mu.std() < 0.3
    method: Any = result.method
    assert result.history[-1]["ess"] > method.n_particles  # only with rounds before


# --- The mixture's weights ---------------------------------------------------------------------


def gaussian(mean, sd):
    return GaussianDensity(jnp.array([mean]), jnp.log(jnp.array([sd])), jnp.eye(1))


def earlier(key, density, n=4000):
    z = np.asarray(density.sample(key, n), np.float64)
    zeros = np.zeros(n)
    return EarlierRound(density, Particles(z, zeros, zeros, z[:, 0] ** 2, zeros))


def test_pooled_particles_stand_for_the_newest_proposal(problem):
    keys = jax.random.split(jax.random.key(1), 3)
    densities = [gaussian(1.0, 0.5), gaussian(0.0, 1.0), gaussian(-1.0, 2.0)]
    rounds = [earlier(key, density) for key, density in zip(keys, densities, strict=True)]
    pool = pooled(problem, rounds[0], tuple(rounds[1:]), rounds=5)
    assert len(pool.z) == len(pool.distance) == 5 * 4000  # padded
    weights = normalise(pool.log_base)
    assert not weights[3 * 4000 :].any()
    assert np.exp(pool.log_base).max() <= 3 * (1 + 1e-5)  # q / mean_s q_s
    ess = effective_sample_size(pool.log_base)
    assert 4000 < ess < 3 * 4000  # more than the newest round alone
    mean = weights @ pool.z[:, 0]
    variance = weights @ (pool.z[:, 0] - mean) ** 2
    assert abs(mean - 1.0) < 4 * 0.5 / np.sqrt(ess)
    assert abs(variance / 0.25 - 1) < 4 * np.sqrt(2 / ess)


def test_divergence_from_base_weights():
    rng = np.random.default_rng(0)
    base, tilt = rng.normal(size=300), rng.normal(size=300)
    w, b = normalise(base + tilt), normalise(base)
    expected = np.sum(w * np.log(w / b))
    assert divergence_from_uniform(base + tilt, base) == pytest.approx(expected)
    assert divergence_from_uniform(base, base) == pytest.approx(0.0, abs=1e-12)
    padded = np.append(base, -np.inf)
    assert divergence_from_uniform(np.append(base + tilt, -np.inf), padded) == pytest.approx(
        expected
    )


@pytest.mark.wrong_types
def test_reuse_is_for_measured_distances():
    for wrong in ({"discrepancy": pliant.LikelihoodKL()}, {"projection": "i"}):
        with pytest.raises(ValueError, match="reuse"):
            pliant.PLI(reuse=2, **wrong)
    for wrong in (-1, 0.5, True):
        with pytest.raises((TypeError, ValueError), match="reuse"):
            dataclasses.replace(pliant.PLI(), reuse=wrong)
