"""Neural likelihoods: their densities and losses against loops, and counts against Poisson."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm, poisson

import pliant
from learned_networks import LIKELIHOOD, learned, plain, random_draws, shaken
from pliant.discrepancies.draws import Widths
from pliant.discrepancies.likelihood_network import LikelihoodNetwork

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 1).expand([2]).to_event(1)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal(size=(6, 2)),
)
WIDTHS = Widths(numbers=2, parameters=4)
UNTRAINED = LIKELIHOOD.untrained(jax.random.key(0), PROBLEM, WIDTHS)
U, CONDITION = jnp.split(jax.random.normal(jax.random.key(1), (6, 40)), [2])
log_values = eqx.filter_jit(lambda network, u, theta: network.log_values(plain(u), theta))


KINDS = {
    "gaussian": LikelihoodNetwork(UNTRAINED.gaussian, None),
    "flow": LikelihoodNetwork(None, UNTRAINED.flow),
    "both": UNTRAINED,
}


@pytest.fixture(params=KINDS)
def network(request):
    """Of random weights."""
    return shaken(KINDS[request.param])


@pytest.mark.parametrize("network", KINDS.values(), ids=KINDS)
def test_without_training_it_is_a_standard_normal(network):
    expected = norm.logpdf(U).sum(axis=0)
    np.testing.assert_allclose(log_values(network, U, CONDITION), expected, atol=1e-5)


def test_one_condition_for_all_points_is_that_condition_for_each(network):
    one = CONDITION[:, :1]
    found = log_values(network, U, one)
    expected = log_values(network, U, jnp.broadcast_to(one, CONDITION.shape))
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_both_are_trained_and_the_better_one_is_used():
    """Draws around the first of four numbers: normal ones, and ones in two far clusters."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(400, 5, 2))
    sides = np.sign(rng.normal(size=normal.shape)) + 0.1 * normal
    kind = dataclasses.replace(LIKELIHOOD, batch_size=100)
    for noise, flow_is_better in ((normal, False), (sides, True)):
        data = dataclasses.replace(random_draws(400, 5), batch_size=100)
        u = 0.3 * data.condition[0][:, None, None] + jnp.asarray(noise, float)
        data = dataclasses.replace(data, u=u, ok=jnp.ones_like(data.ok))
        network, info = kind.trained(jax.random.key(3), UNTRAINED, data)
        assert network.density.is_gaussian != flow_is_better
        loss = kind.held_out_loss(network, data)
        assert float(info["held_out"]) == pytest.approx(float(loss), abs=1e-4)
        again, _ = kind.trained(jax.random.key(4), network, data)  # both go on
        assert again.gaussian is not None
        assert again.flow is not None
        new = kind.untrained(jax.random.key(5), PROBLEM, WIDTHS, like=network)
        assert new.gaussian is not None
        assert (new.flow is None) != flow_is_better
        trained, _ = kind.trained(jax.random.key(6), new, data)
        assert (trained.flow is None) != flow_is_better
        assert (trained.gaussian is None) == flow_is_better


@pytest.mark.parametrize(("excess", "kept"), [(0.04, True), (0.06, False), (-2.0, True)])
def test_a_flow_is_given_up_once_a_gaussian_is_clearly_better(monkeypatch, excess, kept):
    """A flow that leads is not: it may only have learned the mean sooner."""

    def trained(key, model, *_):
        loss = 1.0 + (0.0 if model.is_gaussian else excess)
        return model, {"held_out": jnp.asarray(loss), "fit_steps": jnp.asarray(1)}

    monkeypatch.setattr("pliant.discrepancies.likelihood_kl.train", trained)
    network, info = LIKELIHOOD.trained(jax.random.key(0), UNTRAINED, random_draws())
    assert network.gaussian is not None
    assert (network.flow is not None) == kept
    assert network.density.is_gaussian == (excess > 0)
    assert float(info["held_out"]) == pytest.approx(1.0 + min(excess, 0.0))


def test_the_same_network_for_conditions_on_another_scale(network):
    factor, shift = jnp.array([0.2, 3.0, 1.0, 0.7]), jnp.array([0.5, -0.3, 0.0, 1.0])
    moved = network.with_parameters(factor, shift)
    found = log_values(moved, U, CONDITION)
    expected = log_values(network, U, factor[:, None] * CONDITION + shift[:, None])
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)  # single precision


def test_the_loss_is_the_mean_over_usable_draws_of_every_tenth_parameter(network):
    data = random_draws()
    pairs = [(k, m) for k in (0, 10, 20) for m in range(3) if data.ok[k, m]]
    assert 2 < len(pairs) < 9
    u = jnp.stack([data.u[k, m] for k, m in pairs], axis=1)
    condition = jnp.stack([data.condition[:, k] for k, _ in pairs], axis=1)
    expected = -np.mean(np.asarray(log_values(network, u, condition)))
    assert float(LIKELIHOOD.held_out_loss(network, data)) == pytest.approx(expected, rel=1e-4)


def test_the_average_is_that_of_densities():
    rng = np.random.default_rng(0)
    values, shares = rng.normal(size=(3, 4, 5)).astype(np.float32), np.array([0.5, 0.2, 0.3])
    expected = np.log(sum(s * np.exp(v) for s, v in zip(shares, values, strict=True)))
    np.testing.assert_allclose(LIKELIHOOD.averaged(values, shares), expected, rtol=1e-5, atol=1e-6)


def test_long_observations_are_refused():
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key, (30, 5)),
        np.zeros((6, 30, 5)),
    )
    with pytest.raises(
        ValueError, match=r"LikelihoodKL models .* got 150\. .*or use pliant\.RatioKL"
    ):
        LIKELIHOOD.init(jax.random.key(0), problem, 20)


def test_counts_have_the_probability_of_their_cell():
    observed = np.array([[2.0, 1.0], [0.0, 3.0], [3.0, 2.0], [1.0, 0.0], [2.0, 4.0]])
    problem = pliant.Problem(
        {"rate": dist.LogNormal(0.5 * np.ones(2), 0.5).to_event(1)},
        lambda key, theta: jax.random.poisson(key, theta["rate"]) * 1.0,
        observed,
    )
    state, _ = learned(LIKELIHOOD, problem)
    np.testing.assert_array_equal(state.reading.counts, [True, True])
    z = problem.prior.sample(jax.random.key(9), 500)
    distance, _ = LIKELIHOOD.distances(problem, state, z)
    rate = np.asarray(jax.vmap(problem.prior.space.constrain)(z)["rate"])
    exact = poisson.logpmf(observed, rate[:, None]).sum(axis=(1, 2))
    near = exact > exact.max() - 6
    # the flow smooths steps of a unit's width, which are coarse for rates about two
    assert np.std((-5 * distance - exact)[near]) < 0.8
    assert np.corrcoef(distance[near], exact[near])[0, 1] < -0.9
