"""APT against the exact posterior of a normal mean, and its loss against brute force."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import chisquare

import pliant
from pliant.methods import apt
from pliant.run.history import COLUMNS

N = 4
OPTIONS = {
    "n_particles": 1000,
    "embedding": pliant.DeepSet(features=4, width=16),
    "layers": 1,
    "bins": 4,
    "width": 16,
    "window": 3,
}


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (1,))


def problem(observed):
    return pliant.Problem({"mu": dist.Normal(0, 2)}, simulator, observed, scale=None)


def exact(observed):
    """Mean and standard deviation of the posterior: prior N(0, 4), N unit-variance draws."""
    precision = 1 / 4 + len(observed)
    return observed.sum() / precision, precision**-0.5


OBSERVED = np.array([[1.3], [0.2], [2.1], [1.0]])


@pytest.fixture(scope="module")
def result():
    return pliant.infer(problem(OBSERVED), pliant.APT(rounds=3, **OPTIONS), seed=0)


def check(posterior, observed):
    mean, sd = exact(observed)
    drawn = posterior.sample(4000, seed=1)["mu"]
    assert abs(drawn.mean() - mean) < 0.3 * sd
    assert 0.8 < drawn.std() / sd < 1.25


def test_it_meets_the_exact_posterior(result):
    assert result.status == "finished"
    moved = result.history["moved"]
    assert moved[0] > 0.5  # from the prior, whose width is 4.1 times the posterior's
    assert np.all(np.abs(moved[1:]) < 0.15)
    assert result.history["simulations"][-1] == 3 * 1000 * N
    assert set(result.history.columns) <= set(COLUMNS)
    check(result.posterior, OBSERVED)


def test_how_far_a_round_moved_is_the_divergence_of_its_posterior(result):
    """Of a Gaussian posterior from the prior, up to the flow's errors and those of 1000 draws."""
    mean, sd = exact(OBSERVED)
    expected = np.log(2 / sd) + (sd**2 + mean**2) / 8 - 0.5
    assert result.history["moved"][0] == pytest.approx(expected, abs=0.2)


def test_rounds_that_still_move_the_posterior_are_no_success():
    method = pliant.APT(rounds=3, **OPTIONS)
    rows = tuple({"moved": value} for value in (3.0, 0.4, 0.1))
    told = method.shortfall(problem(OBSERVED), None, rows)
    assert told.startswith("One of the last two rounds moved the posterior by 0.4 nats")
    assert method.shortfall(problem(OBSERVED), None, (*rows, {"moved": 0.0})) == ""
    assert "from the prior" in method.shortfall(problem(OBSERVED), None, rows[:1])


def test_one_round_is_amortised_and_its_ranks_are_uniform():
    """200 data sets from the prior predictive, and no training anew for any of them."""
    with pytest.warns(pliant.PliantWarning, match=r"cut_short.*nats from the prior.*unless"):
        result = pliant.infer(problem(OBSERVED), pliant.APT(rounds=1, **OPTIONS), seed=1)
    posterior = result.posterior
    rng = np.random.default_rng(2)
    truths = rng.normal(0, 2, 200)
    ranks = []
    for index, truth in enumerate(truths):
        observed = truth + rng.normal(size=(N, 1))
        drawn = posterior.given(observed).sample(99, seed=index)["mu"]
        ranks.append(np.sum(drawn < truth))
    counts = np.bincount(np.array(ranks) // 10, minlength=10)
    assert chisquare(counts).pvalue > 0.01
    check(posterior.given(OBSERVED - 2), OBSERVED - 2)


def test_without_warm_start_and_selection_it_meets_the_exact_posterior_too():
    """As in the paper: new networks in each round, all steps, no pair held out."""
    training = pliant.Training(steps=600, rate=3e-3, every=50, selection=False)
    options = {**OPTIONS, "training": training, "warm_start": False, "depth": 3}
    result = pliant.infer(problem(OBSERVED), pliant.APT(rounds=3, **options), seed=0)
    assert "held_out" not in result.history.columns
    assert list(result.history["fit_steps"]) == [600] * 3
    check(result.posterior, OBSERVED)


@pytest.mark.wrong_types
def test_only_amortised_posteriors_can_be_given_other_observations(result):
    with pytest.raises(
        ValueError, match=r"observed: expected finite numbers of the shape \(4, 1\)"
    ):
        result.posterior.given(OBSERVED[:2])
    with pytest.raises(ValueError, match="not finite"):
        result.posterior.given(np.full((4, 1), np.nan))
    plain = dataclasses.replace(result.posterior, density=problem(OBSERVED).prior)
    with pytest.raises(TypeError, match="APT"):
        plain.given(OBSERVED)


def test_it_is_saved_and_loaded_with_its_observations(result, tmp_path):
    loaded = pliant.load(result.save(tmp_path))
    np.testing.assert_array_equal(
        loaded.posterior.sample(50, seed=3)["mu"], result.posterior.sample(50, seed=3)["mu"]
    )
    other = OBSERVED + 0.5
    np.testing.assert_array_equal(
        loaded.posterior.given(other).log_prob({"mu": 1.0}),
        result.posterior.given(other).log_prob({"mu": 1.0}),
    )


def test_the_atomic_loss_is_that_of_the_formula(result):
    density = result.posterior.density
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(1, 40)), rng.normal(size=(40, N, 1))
    data = apt._TrainingSets(
        z=jnp.asarray(z, float),
        features=jnp.asarray(x, float),
        log_prior=jnp.asarray(rng.normal(size=40), float),
        count=jnp.asarray(40),
        atoms=3,
        batch_size=5,
        n_particles=40,
        hold_out=True,
    )
    index, key = jnp.array([7, 3, 7, 11, 2]), jax.random.key(4)
    model = (density.flow, density.network)
    got = eqx.filter_jit(apt._minus_log_share)(model, data, index, key)
    log_prob = eqx.filter_jit(density.flow.log_prob)
    network = eqx.filter_jit(density.network)

    others = 1 + np.asarray(jax.random.permutation(key, 4))[:2]
    terms = []
    for b, own in enumerate(np.asarray(index)):
        atoms = [own] + [int(index[(b + o) % 5]) for o in others if index[(b + o) % 5] != own]
        condition = network(data.features[own])[:, None]
        odds = [float(log_prob(data.z[:, [a]], condition)[0] - data.log_prior[a]) for a in atoms]
        terms.append(np.log(np.sum(np.exp(odds))) - odds[0])
    assert float(got) == pytest.approx(np.mean(terms), rel=1e-4)


@pytest.mark.parametrize("hold_out", [True, False])
def test_held_out_pairs_are_never_trained_on(hold_out):
    data = apt._TrainingSets(
        z=jnp.zeros((1, 200)),
        features=jnp.zeros((200, N, 1)),
        log_prior=jnp.zeros(200),
        count=jnp.asarray(157),
        atoms=2,
        batch_size=64,
        n_particles=100,
        hold_out=hold_out,
    )
    keys = jax.random.split(jax.random.key(0), 200)
    trained = np.unique(jax.vmap(lambda key: apt._batch(key, data))(keys))
    expected = np.arange(157)
    np.testing.assert_array_equal(trained, expected[expected % 10 > 0] if hold_out else expected)
    held_out = np.unique(apt._held_out_batch(data))
    np.testing.assert_array_equal(held_out, np.arange(60, 160, 10))


def test_sets_that_fail_are_left_out_and_too_many_end_the_run():
    def fragile(key, theta):
        return jnp.where(theta["mu"] > -6, 1.0, jnp.nan) * simulator(key, theta)

    method = pliant.APT(rounds=1, **OPTIONS)
    whole = pliant.infer(
        pliant.Problem({"mu": dist.Normal(0, 2)}, fragile, OBSERVED), method, seed=0
    )
    assert whole.status == "cut_short"  # one round
    broken = pliant.Problem({"mu": dist.Normal(-20, 1)}, fragile, OBSERVED)
    with pytest.warns(pliant.PliantWarning, match="failed"):
        failed = pliant.infer(broken, method, seed=0)
    assert failed.status == "failed"
    assert "simulated sets" in failed.message


def test_the_smallest_round_holds_out_fewer_sets_than_atoms():
    """Of 40 sets four are held out, and so at most four parameters compete for one of them."""
    training = pliant.Training(steps=20, every=10)
    options = {**OPTIONS, "n_particles": 40, "atoms": 10, "training": training}
    result = pliant.infer(problem(OBSERVED), pliant.APT(rounds=2, **options), seed=0)
    assert len(result.history) == 2
    held_out = result.history["held_out"]
    assert 0 < held_out[1] < 2 * np.log(4)  # log 4 for parameters that cannot be told apart


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("option", "value"),
    [("atoms", 1), ("batch_size", 5), ("embedding", "deep"), ("window", 0), ("n_particles", 10)],
)
def test_options_are_checked(option, value):
    with pytest.raises((TypeError, ValueError), match=option):
        pliant.APT(**{option: value})
