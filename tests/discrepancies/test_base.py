"""What every discrepancy makes of a proposal, measured or learned: one line per class."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import pliant
from pliant.densities.gaussian import gaussian_from_moments
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    Proposal,
    RoundOptions,
    distance_columns,
)
from pliant.run.history import COLUMNS

TRAINING = pliant.Training(steps=100)
LEARNED = {"width": 8, "networks": 1, "n_evaluated": 100, "training": TRAINING, "approach": None}
DISCREPANCIES = {
    "mmd": pliant.MMD(),
    "features": pliant.RandomFeatureMMD(n_features=44),
    "wasserstein": pliant.Wasserstein(),
    "sliced": pliant.SlicedWasserstein(n_projections=5),
    "energy": pliant.Energy(),
    "euclidean": pliant.Euclidean(),
    "likelihood": pliant.LikelihoodKL(layers=1, bins=4, **LEARNED),
    "ratio": pliant.RatioKL(**LEARNED),
}
PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal(size=(12, 2)),
)
PRIOR = Proposal(PROBLEM.prior, level=0.0)


@pytest.fixture(params=DISCREPANCIES)
def discrepancy(request):
    return DISCREPANCIES[request.param]


def evaluated(discrepancy):
    state, calls = discrepancy.init(jax.random.key(0), PROBLEM, 10)
    assert calls == discrepancy.simulations_before(PROBLEM) == 0
    z = PRIOR.density.sample(jax.random.key(1), 60)
    return discrepancy.evaluate(jax.random.key(2), PROBLEM, state, PRIOR, z, RoundOptions(10))


def test_particles_of_the_proposal_have_their_distances(discrepancy):
    particles, state, simulations, row, *_ = evaluated(discrepancy)
    assert simulations == 600
    assert np.all(np.isfinite(particles.distance))
    np.testing.assert_array_equal(particles.log_q, particles.log_prior)  # drawn from the prior
    assert not particles.log_partition.any()
    # the truth is zero: parameters near it are closer than those three standard deviations away
    near, far = (np.abs(particles.z[:, 0]) < 0.3), (np.abs(particles.z[:, 0]) > 1.2)
    assert particles.distance[near].mean() < particles.distance[far].mean()
    assert set(row) <= set(COLUMNS)
    assert row["usable"] == 1
    again = discrepancy.distances_again(PROBLEM, state, jnp.asarray(particles.z, float))
    if discrepancy.is_noisy:
        assert again is None
    else:
        np.testing.assert_allclose(again, particles.distance, atol=1e-5)


def test_defaults_suit_the_number_of_observations(discrepancy):
    n_particles, n_draws = discrepancy.default_sizes(PROBLEM)
    assert n_particles * n_draws >= 40_000
    assert discrepancy.default_beta(50) == pytest.approx(discrepancy.default_beta(100) * 2)
    sizes = discrepancy.budgeted_sizes(PROBLEM, 20, 5000)
    assert sizes.rounds * sizes.n_draws <= 5000


def test_a_class_that_is_not_finished_cannot_be_instantiated():
    unfinished: Any = AbstractDiscrepancy
    with pytest.raises(TypeError, match=r"abstract.*default_beta.*default_sizes.*evaluate.*init"):
        unfinished()


def test_particles_carry_the_densities_of_prior_and_proposal():
    proposal = Proposal(gaussian_from_moments(np.array([0.5]), np.array([[0.09]])), level=0.4)
    z = jnp.linspace(-1, 1, 9)[:, None]
    particles = proposal.particles(PROBLEM, z, np.arange(9.0))
    theta = np.asarray(jax.vmap(PROBLEM.prior.space.constrain)(z)["mu"], np.float64)
    slope = (theta[-1] - theta[0]) / 2  # of theta, which is linear in z
    expected = norm.logpdf(theta, 0, 2) + np.log(slope)
    np.testing.assert_allclose(particles.log_prior, expected, rtol=1e-5)  # single precision
    np.testing.assert_allclose(particles.log_q, norm.logpdf(z[:, 0], 0.5, 0.3), rtol=1e-5)
    np.testing.assert_array_equal(particles.distance, np.arange(9.0))
    assert not particles.log_partition.any()
    assert particles.log_base is None


def test_draws_at_the_target_reach_beyond_the_density_and_have_the_weights_that_undo_it():
    density = gaussian_from_moments(np.array([0.5]), np.array([[0.09]]))
    z, log_base = Proposal(density, level=1.0).draws(jax.random.key(0), 20_000)
    assert np.var(z) == pytest.approx(0.09 * (0.8 + 0.2 * 1.5**2), rel=0.05)
    assert log_base is not None
    weights = np.exp(log_base)
    assert weights.mean() == pytest.approx(1, abs=4 * weights.std() / 20_000**0.5)
    assert weights @ (np.asarray(z)[:, 0] - 0.5) ** 2 / 20_000 == pytest.approx(0.09, rel=0.05)
    particles = Proposal(density, level=1.0).particles(
        PROBLEM, z, np.zeros(20_000), log_base=log_base
    )
    np.testing.assert_allclose(particles.log_q, norm.logpdf(z[:, 0], 0.5, 0.3), atol=1e-5)
    assert particles.log_base is log_base


def test_draws_before_the_target_are_those_of_the_density():
    density = gaussian_from_moments(np.array([0.5]), np.array([[0.09]]))
    for proposal in (Proposal(density, level=0.9), PRIOR):
        z, log_base = proposal.draws(jax.random.key(0), 50)
        np.testing.assert_array_equal(z, proposal.density.sample(jax.random.key(0), 50))
        assert log_base is None


def test_columns_are_those_of_known_distances():
    distance = np.array([4.0, np.inf, 1.0, 2.0, 9.0])
    row = distance_columns(distance, np.array([0.5, -0.1, 1.1]), 0.8)
    assert (row["distance_min"], row["distance_median"], row["usable"]) == (1.0, 3.0, 0.8)
    assert row["distance_se"] == pytest.approx(0.5**0.5)
    assert row["noise_share"] == pytest.approx(0.5 / np.var([4, 1, 2, 9]))
    assert distance_columns(distance, np.array([-0.2]), 0.8)["noise_share"] == 0
    assert np.isnan(distance_columns(distance, np.zeros(0), 0.8)["distance_se"])
    assert distance_columns(np.full(3, np.inf), np.zeros(0), 0.0) == {"usable": 0.0}
