"""What every discrepancy makes of a proposal, measured or learned: one line per class."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.base import Proposal, RoundOptions
from pliant.run.history import COLUMNS

TRAINING = pliant.Training(steps=50)
DISCREPANCIES = {
    "mmd": pliant.MMD(),
    "features": pliant.RandomFeatureMMD(n_features=44),
    "wasserstein": pliant.Wasserstein(),
    "sliced": pliant.SlicedWasserstein(n_projections=5),
    "energy": pliant.Energy(),
    "euclidean": pliant.Euclidean(),
    "likelihood": pliant.LikelihoodKL(
        layers=1, bins=4, width=8, networks=1, n_evaluated=100, training=TRAINING
    ),
    "ratio": pliant.RatioKL(width=8, networks=1, n_evaluated=100, training=TRAINING),
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


def evaluated(discrepancy, n_particles=60, n_draws=10, **options):
    state, calls = discrepancy.init(jax.random.key(0), PROBLEM, n_draws)
    assert calls == discrepancy.simulations_before(PROBLEM) == 0
    z = PRIOR.density.sample(jax.random.key(1), n_particles)
    options = RoundOptions(n_draws, **options)
    return discrepancy.evaluate(jax.random.key(2), PROBLEM, state, PRIOR, z, options)


def test_particles_of_the_proposal_have_their_distances(discrepancy):
    particles, state, simulations, row, _ = evaluated(discrepancy)
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
    n_particles, n_draws = discrepancy.default_sizes(50)
    assert n_particles * n_draws >= 40_000
    assert discrepancy.default_beta(50) == pytest.approx(discrepancy.default_beta(100) * 2)
    sizes = discrepancy.budgeted_sizes(PROBLEM, 20, 5000)
    assert sizes.rounds * sizes.n_draws <= 5000


@pytest.mark.default_flags
@pytest.mark.parametrize("name", ["mmd", "wasserstein", "energy"])
def test_the_chunk_size_changes_no_bit(name):
    whole = evaluated(DISCREPANCIES[name], influences=name != "wasserstein")
    for chunk_size in (7, 20, 60):
        found = evaluated(
            DISCREPANCIES[name], chunk_size=chunk_size, influences=name != "wasserstein"
        )
        np.testing.assert_array_equal(found.particles.distance, whole.particles.distance)
        np.testing.assert_array_equal(found.influences, whole.influences)
        assert found.row == whole.row  # the noise of the distances too


def test_unconverged_plans_reach_the_history():
    discrepancy = pliant.Wasserstein(regularisation=0.01, max_iterations=10)
    method = pliant.PLI(
        rounds=1, n_particles=40, n_draws=10, discrepancy=discrepancy, family=pliant.Gaussian()
    )
    assert pliant.infer(PROBLEM, method).history[0]["unconverged"] > 20
    converged = evaluated(pliant.Wasserstein(max_iterations=5000))
    assert converged.row["unconverged"] == 0
