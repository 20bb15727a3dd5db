"""What the data tell, and what the prior does."""

import jax
import numpy as np
import numpyro.distributions as dist

import pliant
from known_posteriors import gaussian, known
from pliant.diagnosis.determination import check_determination, contractions
from pliant.diagnosis.evidence import gather
from pliant.run.posterior import Posterior

KEY = jax.random.key(0)


def found_of(evidence):
    return {finding.check: finding for finding in check_determination(KEY, evidence)}


def test_contraction_is_that_of_the_variances():
    rng = np.random.default_rng(0)
    prior, posterior = rng.normal(0, 2, (50_000, 2)), rng.normal(0, [1, 2], (50_000, 2))
    np.testing.assert_allclose(contractions(prior, posterior), [0.75, 0.0], atol=0.03)


def test_data_that_determine_everything(evidence):
    found = found_of(evidence)
    assert {finding.level for finding in found.values()} == {"ok"}
    assert found["contraction"].number > 0.98  # of 30 observations and a wide prior
    assert found["sensitivity"].number < 0.05


def at(mean, spread, prior=dist.Uniform(0, 1)):  # noqa: B008
    """A posterior of one parameter, given in unconstrained units."""
    problem = pliant.Problem(
        {"a": prior}, lambda key, theta: theta["a"] + jax.random.normal(key, (1,)), np.zeros((5, 1))
    )
    posterior = Posterior(problem.prior.space, gaussian(np.array([mean]), np.eye(1) * spread))
    return gather(KEY, problem, posterior, None)


def test_a_parameter_that_the_data_leave_open_is_noted():
    evidence = at(0.0, 1.0, dist.Normal(0, 1))
    finding = found_of(evidence)["contraction"]
    assert finding.level == "note"
    assert "nearly nothing about a" in finding.text


def test_a_posterior_at_the_edge_of_the_prior_is_noted():
    finding = found_of(at(4.0, 0.5))["prior's edge"]
    assert finding.level == "note"
    assert "upper end" in finding.text
    assert "lower end" in found_of(at(-4.0, 0.5))["prior's edge"].text


def test_a_strong_prior_is_noted():
    """With a prior that is as narrow as the likelihood, and in conflict with it."""
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 0.1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key, (1,)),
        np.full((100, 1), 1.0, np.float32),
    )
    zero, one = (
        np.asarray(problem.prior.space.unconstrain({"mu": np.float32(v)})) for v in (0.0, 1.0)
    )
    density = gaussian(zero + 0.5 * (one - zero), np.diag(0.07 * (one - zero)))
    evidence = gather(KEY, problem, Posterior(problem.prior.space, density), None)
    finding = found_of(evidence)["sensitivity"]
    assert finding.level == "note"
    assert finding.number > 0.3


def test_without_a_likelihood_the_draws_are_taken_as_they_are():
    found = found_of(known(likelihood=None).evidence())
    assert found["sensitivity"].level == "ok"
