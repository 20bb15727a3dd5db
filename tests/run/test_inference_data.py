"""What ArviZ gets, and that its own functions work with it."""

import sys

import arviz
import jax
import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as pyplot
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from known_posteriors import known
from pliant.densities.particles import particle_density
from pliant.problem.sets import observed_draws
from pliant.run.posterior import Posterior

PRIOR = {"mu": dist.Normal(0, 2), "v": dist.Normal(0, 1).expand([2])}
OBSERVED = np.random.default_rng(0).normal(1.0, 1.0, (12, 3)).astype(np.float32)


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (3,))


def log_likelihood(theta, x):
    return jnp.sum(jax.scipy.stats.norm.logpdf(x, theta["mu"]))


def posterior_of(problem):
    """A fit of the prior's draws; what is tested does not depend on it."""
    z = problem.prior.sample(jax.random.key(0), 300)
    density, _ = pliant.Gaussian().fit(jax.random.key(1), z, jnp.zeros(300), None)
    return Posterior(problem.prior.space, density)


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem(PRIOR, simulator, OBSERVED)


@pytest.fixture(scope="module")
def data(problem):
    return posterior_of(problem).to_arviz(
        400, problem=problem, n_predictive=20, log_likelihood=log_likelihood, seed=5
    )


def test_draws_are_those_of_the_posterior_in_four_chains(problem, data):
    draws = posterior_of(problem).sample(400, seed=5)
    assert data.posterior["v"].shape == (4, 100, 2)
    for name in PRIOR:
        np.testing.assert_array_equal(
            data.posterior[name].values.reshape(draws[name].shape), draws[name]
        )


def test_the_groups_hold_what_their_names_say(data):
    assert data.prior["mu"].shape == (1, 400)
    assert abs(float(data.prior["mu"].std()) / 2 - 1) < 0.15  # four standard errors
    np.testing.assert_array_equal(data.observed_data["x"], OBSERVED)
    assert data.posterior_predictive["x"].shape == (1, 20, 12, 3)
    dims = data.observed_data["x"].dims
    assert data.posterior_predictive["x"].dims == ("chain", "draw", *dims)
    mu, v = data.posterior["mu"].values, data.posterior["v"].values
    expected = np.asarray(dist.Normal(0, 2).log_prob(mu) + dist.Normal(0, 1).log_prob(v).sum(-1))
    np.testing.assert_allclose(data.log_prior["prior"], expected, rtol=1e-4, atol=1e-4)
    expected = dist.Normal(mu[..., None, None], 1).log_prob(OBSERVED).sum(-1)
    np.testing.assert_allclose(data.log_likelihood["likelihood"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.user_code
@pytest.mark.filterwarnings("ignore")  # of ArviZ itself; Pareto's k of a fit that is only a prior
def test_arviz_can_check_compare_and_draw_it(data):
    mpl.use("Agg")
    assert arviz.loo(data).n_data_points == 12
    for component in ("prior", "likelihood"):
        assert np.isfinite(arviz.psens(data, component=component)["mu"])
    assert np.max(np.asarray(arviz.summary(data)["r_hat"])) < 1.05
    assert arviz.plot_ppc(data, num_pp_samples=5) is not None
    pyplot.close("all")


def test_without_a_problem_there_is_the_posterior_alone(problem):
    data = posterior_of(problem).to_arviz(6)
    assert data.groups() == ["posterior"]
    assert data.posterior["mu"].shape == (1, 6)  # 6 is no multiple of four


def test_particles_are_one_chain(problem):
    density = particle_density(np.eye(8, 3, dtype=np.float32), np.zeros(8, np.float32))
    assert Posterior(problem.prior.space, density).to_arviz(16).posterior["mu"].shape == (1, 16)


def test_named_data_with_conditions_and_gaps():
    observed = {"y": np.array([[0.1, np.nan], [0.2, 0.3]]), "k": np.array([1.0, 0.0])}
    dose = np.array([1.0, 100.0])

    def under(key, theta, dose):
        return {"y": dose + 0.01 * jax.random.normal(key, (2,)), "k": dose}

    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)}, under, observed, conditions=dose, missing=True
    )
    data = posterior_of(problem).to_arviz(
        4, problem=problem, n_predictive=3, log_likelihood=lambda theta, x, dose: dose * x["k"]
    )
    np.testing.assert_allclose(data.observed_data["y"], observed["y"], rtol=1e-6)
    predicted = data.posterior_predictive["y"].values
    assert predicted.shape == (1, 3, 2, 2)
    assert np.isnan(predicted[:, :, 0, 1]).all()
    np.testing.assert_allclose(predicted[0, :, 1, :], 100, atol=0.1)
    np.testing.assert_allclose(data.log_likelihood["likelihood"][0, 0], [1.0, 0.0])


def test_sets_with_a_failed_draw_are_left_out(problem):
    def failing(key, theta):
        x = simulator(key, theta)
        return jnp.where(theta["mu"] < 0, jnp.nan, x)

    other = pliant.Problem(PRIOR, failing, OBSERVED)
    data = posterior_of(other).to_arviz(40, problem=other, n_predictive=40)
    n_whole = int(np.sum(data.posterior["mu"].values >= 0))
    assert 0 < n_whole < 40
    assert data.posterior_predictive["x"].shape == (1, n_whole, 12, 3)
    never = pliant.Problem(PRIOR, lambda key, theta: jnp.nan * simulator(key, theta), OBSERVED)
    with pytest.raises(ValueError, match="n_predictive: each of 5 simulated sets has a failed"):
        posterior_of(never).to_arviz(40, problem=never, n_predictive=5)
    assert "posterior_predictive" not in posterior_of(never).to_arviz(
        40, problem=never, n_predictive=0
    )


def test_mistakes_are_told(problem, monkeypatch):
    posterior = posterior_of(problem)
    with pytest.raises(ValueError, match="log_likelihood: expected a problem too"):
        posterior.to_arviz(4, log_likelihood=log_likelihood)
    with pytest.raises(ValueError, match="log_likelihood: expected a finite number"):
        posterior.to_arviz(
            4, problem=problem, n_predictive=0, log_likelihood=lambda theta, x: jnp.log(-1.0)
        )
    other = pliant.Problem({"nu": dist.Normal(0, 1)}, lambda key, theta: theta["nu"], np.ones(3))
    with pytest.raises(ValueError, match=r"parameters mu, v\[2\], got one with nu"):
        posterior.to_arviz(4, problem=other)
    with pytest.raises(ValueError, match="n_predictive"):
        posterior.to_arviz(4, problem=problem, n_predictive=-1)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[arviz\]'"):
        posterior.to_arviz(4)


def test_a_result_adds_the_likelihood_that_it_has_learned():
    case = known()
    data = case.result.to_arviz(case.problem, 400, n_predictive=5)
    z = case.result.posterior.density.sample(jax.random.key(0), 400)
    expected = case.result.likelihood.log_values(case.problem, observed_draws(case.problem), z)
    found = data.log_likelihood["likelihood"].values.reshape(400, -1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.isfinite(arviz.loo(data).elpd_loo)
    measured = known(likelihood=None)
    assert "log_likelihood" not in measured.result.to_arviz(measured.problem, 400, n_predictive=5)
