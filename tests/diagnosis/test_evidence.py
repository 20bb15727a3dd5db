"""What the checks look at, against loops over the closed form."""

import jax
import numpy as np

import pliant
from known_posteriors import N_OBS, clean, known, problem_of, result_of
from pliant.diagnosis.evidence import _used, gather


def test_evidence_has_the_sizes_it_says(evidence):
    assert evidence.z.shape == (2000, 2)
    assert evidence.names == ("mu[0]", "mu[1]")
    assert evidence.sets.x.shape == (200, N_OBS, 2)
    assert evidence.log_observed.shape == (2000, N_OBS)
    assert evidence.log_own.shape == (200, N_OBS)
    assert evidence.log_sets.shape == (500, 200)
    assert evidence.share == 1.0


def test_likelihoods_are_those_of_the_right_draws_and_parameters(evidence):
    x = np.asarray(evidence.sets.x, float)
    for r, c in ((0, 3), (7, 7), (199, 499)):
        off = x[r] - evidence.theta[c]
        np.testing.assert_allclose(evidence.log_sets[c, r], -(off**2).sum() / 2, rtol=1e-4)
        own = x[r] - evidence.theta[r]
        np.testing.assert_allclose(evidence.log_own[r], -(own**2).sum(axis=1) / 2, rtol=1e-3)


def test_exact_posteriors_have_equal_weights(evidence):
    weights = evidence.log_weights
    assert np.ptp(weights) < 1e-2
    normalised, k_hat = evidence.weighted(weights)
    np.testing.assert_allclose(normalised.sum(), 1)
    assert k_hat < 0.5


def test_without_a_likelihood_there_are_only_simulations():
    found = known(likelihood=None).evidence()
    assert found.log_weights is None
    assert found.log_observed is found.log_own is found.log_sets is None
    assert found.simulated.shape == (200, N_OBS, 2)
    np.testing.assert_allclose(found.observed, np.asarray(found.problem.observed))


def test_more_parameters_rank_by_smaller_sets(exact):
    assert _used(exact.problem, 500) == N_OBS
    wide = pliant.tasks.get("gaussian_location").problem(100)
    assert 20 <= _used(wide, 1000) <= 60


def test_a_slow_simulator_tells_how_far_it_is():
    def draw(rng, theta):
        return theta["mu"] + rng.normal(size=2)

    problem = problem_of(clean(n_obs=3), pliant.PythonSimulator(draw))
    told = []
    posterior = result_of(problem).posterior
    found = gather(jax.random.key(0), problem, posterior, None, told.append)
    assert told[:2] == ["simulating 200 sets of 3", "simulating 200 sets of 3: 20 done"]
    assert len(told) == 10
    off = found.simulated - found.theta[:200, None]
    assert abs(off.mean()) < 4 / np.sqrt(off.size)
    assert abs(off.std() - 1) < 0.1
