"""A mode that the posterior lacks is found by the likelihood, and verified by simulations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from known_posteriors import gaussian, known, result_of
from pliant.diagnosis.elsewhere import check_elsewhere, search
from pliant.diagnosis.evidence import gather
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem.space import constrain_all
from pliant.run.posterior import Posterior

KEY = jax.random.key(0)


class Folded(AbstractLikelihood):
    """Of ``x ~ N(mu^2, 1)``: the sign of mu is unknown.

    ``invented`` has a mode at mu = -1 in place of that at -2, where sets are unlike the observed.
    """

    power: float = 1.0
    invented: bool = eqx.field(static=True, default=False)

    def log_values(self, problem, draws, z):
        mu = np.asarray(constrain_all(problem.prior.space, z)["mu"], float)
        x = np.asarray(draws.x, float)[None, :, 0]
        moved = np.where(mu < 0, mu - 1, mu) if self.invented else mu
        return -((x - moved[:, None] ** 2) ** 2) / 2


def simulator(key, theta):
    return theta["mu"] ** 2 + jax.random.normal(key, (1,))


PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)}, simulator, 4 + np.random.default_rng(0).standard_normal((40, 1))
)


def at_two(**options):
    """A posterior around mu = 2 only."""
    space = PROBLEM.prior.space
    centre = np.asarray(space.unconstrain({"mu": jnp.asarray(2.0)}))
    unit = np.asarray(space.unconstrain({"mu": jnp.asarray(1.0)})) - np.asarray(
        space.unconstrain({"mu": jnp.asarray(0.0)})
    )
    density = gaussian(centre, np.diag(0.04 * unit))
    return gather(KEY, PROBLEM, Posterior(space, density), Folded(**options))


def test_the_search_finds_both_signs():
    found = search(KEY, at_two())
    mu = np.asarray(constrain_all(PROBLEM.prior.space, jnp.asarray(found.z, float))["mu"])
    assert 0.25 < np.mean(mu > 0) < 0.75
    np.testing.assert_allclose(np.abs(mu).mean(), 2.0, atol=0.1)


def test_a_missing_mode_is_found():
    (finding,) = check_elsewhere(KEY, at_two())
    assert finding.level == "unsound"
    assert "mu = -" in finding.text
    assert finding.number > 0.2


def test_a_mode_that_simulations_do_not_confirm_is_none():
    evidence = at_two(invented=True)
    found = search(KEY, evidence)
    mu = np.asarray(constrain_all(PROBLEM.prior.space, jnp.asarray(found.z, float))["mu"])
    assert np.any(np.abs(mu + 1) < 0.2)
    (finding,) = check_elsewhere(KEY, evidence)
    assert finding.level == "ok"
    assert finding.number > 0.2


def test_an_exact_posterior_lacks_nothing(evidence):
    (finding,) = check_elsewhere(KEY, evidence)
    assert finding.level == "ok"
    assert finding.number < 0.02


def test_without_a_likelihood_there_is_no_search():
    (finding,) = check_elsewhere(KEY, known(likelihood=None).evidence())
    assert finding.level == "skipped"
    assert result_of(PROBLEM.with_more(np.zeros((0, 1)), np.zeros(0, int))).likelihood is None
