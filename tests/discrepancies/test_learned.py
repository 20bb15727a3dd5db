"""Learned likelihoods against exact ones, on problems where those are known.

All problems have two parameters and observations of two numbers, so that they share what is
compiled.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import pliant
from learned_networks import LIKELIHOOD, RATIO, learned, plain

KINDS = {"likelihood": LIKELIHOOD, "ratio": RATIO}
N = 10
OBSERVED = np.random.default_rng(0).normal([1.0, 0.0], 1.5, size=(N, 2))


def simulator(key, theta):
    return theta["mu"] * jnp.array([1.0, 0.0]) + theta["sigma"] * jax.random.normal(key, (2,))


PRIOR = {"mu": dist.Normal(0, 2), "sigma": dist.LogNormal(0.5, 0.4)}
PROBLEM = pliant.Problem(PRIOR, simulator, OBSERVED)


def log_likelihood(z):
    theta = jax.vmap(PROBLEM.prior.space.constrain)(z)
    mean = np.asarray(theta["mu"])[:, None, None] * np.array([1.0, 0.0])
    sigma = np.asarray(theta["sigma"])[:, None, None]
    return norm.logpdf(OBSERVED, mean, sigma).sum(axis=(1, 2))


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    kind = KINDS[request.param]
    return kind, *learned(kind, PROBLEM)


def test_distances_are_those_of_the_exact_likelihood(trained):
    """Where the likelihood matters: within some nats of its maximum among prior draws."""
    kind, state, _ = trained
    z = PROBLEM.prior.sample(jax.random.key(9), 2000)
    distance, errors = kind.distances(PROBLEM, state, z)
    exact = log_likelihood(z)
    near = exact > exact.max() - 6
    error = -N * distance[near] - exact[near]
    assert near.sum() > 50
    assert np.std(error) < 0.5  # nats, over ten observations of two numbers
    assert errors.shape == (kind.networks, 2000)


def test_several_networks_count_by_their_held_out_likelihood(trained):
    kind, state, row = trained
    assert len(state.networks) == kind.networks
    assert state.shares.sum() == pytest.approx(1)
    assert state.shares.min() > 0.1  # all are trained on the same draws
    one, theta = plain(jnp.ones((2, 1))), jnp.ones((4, 1))
    values = [network.log_values(one, theta) for network in state.networks]
    assert len(np.unique(np.asarray(values))) == kind.networks  # but not the same
    assert 1 < row["agreeing_rounds"] <= 2  # both rounds were at the prior
    assert row["agreeing_rounds"] == pytest.approx(state.relevance.sum())
    assert state.relevance[0] == 1


def test_an_average_is_nearer_than_its_networks(trained):
    kind, state, _ = trained
    z = PROBLEM.prior.sample(jax.random.key(9), 2000)
    exact = log_likelihood(z)
    near = exact > exact.max() - 6

    def error(state):
        distance, _ = kind.distances(PROBLEM, state, z[near])
        return np.std(-N * distance - exact[near])

    alone = [
        error(dataclasses.replace(state, networks=(network,), shares=np.ones(1)))
        for network in state.networks
    ]
    assert error(state) < np.mean(alone)


@pytest.mark.parametrize("trained", ["likelihood"], indirect=True)
def test_a_gaussian_is_used_where_splines_gain_nothing(trained):
    _, state, _ = trained
    assert all(network.density.is_gaussian for network in state.networks)


def test_pli_with_a_learned_likelihood_meets_the_exact_posterior():
    sizes = {"n_particles": 1000, "n_draws": 20, "rounds": 12}
    method = pliant.PLI(discrepancy=KINDS["likelihood"], family=pliant.Gaussian(), **sizes)
    result = pliant.infer(PROBLEM, method, seed=0)
    assert result.status == "converged"
    assert result.history["simulations"][-1] <= 12 * 1000 * 20
    z = PROBLEM.prior.sample(jax.random.key(5), 200_000)
    weights = np.exp(log_likelihood(z) - log_likelihood(z).max())
    theta = jax.vmap(PROBLEM.prior.space.constrain)(z)
    drawn = result.posterior.sample(5000, seed=1)
    for name in PRIOR:
        mean = np.average(theta[name], weights=weights)
        sd = np.average((theta[name] - mean) ** 2, weights=weights) ** 0.5
        assert abs(drawn[name].mean() - mean) < 0.3 * sd
        assert 0.8 < drawn[name].std() / sd < 1.25


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_data_that_never_vary_and_draws_that_fail_give_numbers(kind):
    def fragile(key, theta):
        x = theta["mu"] + jax.random.normal(key)
        return jnp.stack([jnp.where(x < 3, x, jnp.nan), 3.0])

    problem = pliant.Problem(PRIOR, fragile, np.stack([OBSERVED[:, 0], np.full(N, 3.0)], axis=1))
    state, row = learned(kind, problem, rounds=1)
    distance, _ = kind.distances(problem, state, problem.prior.sample(jax.random.key(9), 100))
    assert np.all(np.isfinite(distance))
    assert np.isfinite(row["net_loss"])


def test_a_simulator_that_always_fails_ends_the_run():
    problem = pliant.Problem(PRIOR, lambda key, theta: jnp.full(2, jnp.nan), OBSERVED)
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = pliant.infer(problem, pliant.PLI(discrepancy=KINDS["likelihood"]))
    assert result.status == "failed"
    assert "usable simulations" in result.message


@pytest.mark.wrong_types
@pytest.mark.parametrize("kind", [pliant.LikelihoodKL, pliant.RatioKL])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("window", 0),
        ("networks", 1.5),
        ("n_evaluated", 3),
        ("training", None),
        ("approach", pliant.LikelihoodKL()),
    ],
)
def test_options_are_checked(kind, option, value):
    with pytest.raises((TypeError, ValueError), match=option):
        kind(**{option: value})


@pytest.mark.parametrize(
    ("numbers", "n_draws"), [(1, 200), (10, 200), (20, 104), (50, 50), (600, 20)]
)
def test_fewer_draws_of_long_observations(numbers, n_draws):
    """2 ** 22 numbers in a round, but 50 draws within 2 ** 24 numbers, and 20 in any case."""
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key, (numbers,)),
        np.zeros((10, numbers)),
    )
    assert pliant.LikelihoodKL().default_sizes(problem) == (2000, n_draws)


@pytest.mark.parametrize(("n_obs", "evaluated"), [(1, 5000), (1250, 4000), (5000, 2000)])
def test_fewer_particles_are_evaluated_with_many_observations(n_obs, evaluated):
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key),
        np.zeros(n_obs),
    )
    assert pliant.LikelihoodKL()._n_evaluated(problem) == evaluated
    assert pliant.LikelihoodKL(n_evaluated=300)._n_evaluated(problem) == 300


def test_a_simulator_that_is_slow_makes_twenty_draws():
    slow = pliant.PythonSimulator(lambda rng, theta: theta["mu"] + rng.normal(size=2))
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, slow, np.zeros((1000, 2)))
    assert pliant.RatioKL().default_sizes(problem) == (2000, 20)
