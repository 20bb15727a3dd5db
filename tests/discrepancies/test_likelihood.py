"""What a run keeps of its networks gives the distances that the networks gave."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from learned_networks import LIKELIHOOD, learned
from pliant.discrepancies.learned import LearnedState
from pliant.discrepancies.likelihood import learned_likelihood
from pliant.problem.sets import Draws, observed_draws


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (1,))


PROBLEM = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, np.linspace(-1, 1, 6)[:, None])
Z = jnp.linspace(-1, 1, 7)[:, None]


def test_the_likelihood_of_the_observations_is_minus_their_distance():
    ensemble, _ = learned(LIKELIHOOD, PROBLEM)
    kept = learned_likelihood(LIKELIHOOD, LearnedState(ensemble=ensemble), 1.0)
    values = kept.log_values(PROBLEM, observed_draws(PROBLEM), Z)
    assert values.shape == (7, 6)
    distances, _ = LIKELIHOOD.distances(PROBLEM, ensemble, Z)
    np.testing.assert_allclose(-values.mean(axis=1), distances, rtol=1e-5, atol=1e-5)


def test_other_draws_are_evaluated_as_observations_would_be():
    ensemble, _ = learned(LIKELIHOOD, PROBLEM)
    kept = learned_likelihood(LIKELIHOOD, LearnedState(ensemble=ensemble), 1.0)
    x = np.array([[0.3], [-0.7]], np.float32)
    found = kept.log_values(PROBLEM, Draws(x, np.ones(2, bool)), Z)
    other = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, x)
    np.testing.assert_allclose(found, kept.log_values(other, observed_draws(other), Z), rtol=1e-5)


def test_before_anything_is_learned_there_is_none():
    assert learned_likelihood(LIKELIHOOD, LearnedState(), 1.0) is None
