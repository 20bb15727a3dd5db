"""Runs of PLI with a small learned likelihood: where they end, and what a folder keeps of them."""

import dataclasses
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.densities.gaussian import GaussianDensity
from pliant.discrepancies.learned import LearnedState
from pliant.methods.pli_state import PLIState
from pliant.run.history import COLUMNS
from pliant.weighting.weights import full_tempering

N = 20
PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2).expand([2]).to_event(1)},
    lambda key, theta: theta["mu"] + 0.5 * jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal([0.7, -0.4], 0.5, (N, 2)),
)
SMALL = pliant.LikelihoodKL(
    layers=1,
    bins=4,
    width=8,
    training=pliant.Training(steps=200, rate=1e-2, every=50),
    batch_size=100,
    networks=2,
    n_evaluated=300,
)
METHOD = pliant.PLI(
    rounds=6, n_particles=100, n_draws=10, discrepancy=SMALL, family=pliant.Gaussian()
)
DIRECT = dataclasses.replace(METHOD, discrepancy=dataclasses.replace(SMALL, approach=None))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run from the approach to the target."""
    folder = tmp_path_factory.mktemp("whole")
    return pliant.infer(PROBLEM, METHOD, folder=folder, progress=False), folder


def approached(history):
    """How many rounds only compared sets."""
    return sum(row.get("networks") is None for row in history)


def rows(result):
    """All numbers but the time; None for those that are not known."""
    return [
        {
            name: None if v is None or np.isnan(v) else v
            for name, v in row.items()
            if name != "seconds"
        }
        for row in result.history
    ]


def samples(result):
    return result.posterior.sample(300, seed=1)["mu"]


def test_sets_are_compared_before_anything_is_learned(whole):
    result, _ = whole
    history = list(result.history)
    first = approached(history)
    assert 2 <= first < len(history)
    assert all(row["beta"] == pytest.approx(0.05 / N) for row in history[:first])
    assert all(row["beta"] == pytest.approx(0.5 / N) for row in history[first:])
    assert [row.get("networks") for row in history[:first]] == [None] * first
    levels = [row["level"] for row in history[first:]]
    assert levels == sorted(levels)
    assert levels[-1] == 1
    assert all(1 <= row["steps"] <= 4 for row in history[first:])
    assert history[-1]["networks"] == 2  # all of them, at the target
    assert history[-1]["log_likelihood_se"] > 0
    assert set(result.history.columns) <= set(COLUMNS)


def test_it_finds_the_posterior(whole):
    """Conjugate: the prior's precision is 1/4, that of the observations 4 N."""
    precision = 0.25 + 4 * N
    exact = 4 * np.asarray(PROBLEM.observed).sum(axis=0) / precision
    found = whole[0].posterior.sample(5000, seed=1)["mu"]
    # networks of 8 units and 200 steps: within the posterior's width, and not twice as wide
    np.testing.assert_allclose(found.mean(axis=0), exact, atol=precision**-0.5)
    assert np.all(found.std(axis=0) < 2 * precision**-0.5)


@pytest.fixture
def exactly(monkeypatch):
    """The likelihood is known; the exact posterior's mean and width."""
    observed = np.asarray(PROBLEM.observed)

    def distances(self, problem, state, z):
        off = np.asarray(z, float)[:, None] - observed
        return 2 * np.sum(off**2, axis=2).mean(axis=1)

    monkeypatch.setattr(pliant.LikelihoodKL, "distances_again", distances)
    precision = 0.25 + 4 * N
    return 4 * observed.sum(axis=0) / precision, precision**-0.5


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_steps_at_the_target_go_on_until_the_posterior_is_close_to_it(exactly, share):
    """A posterior with a share of the width that it should have, which no simulation mends."""
    mean, width = exactly
    narrow = GaussianDensity(
        jnp.asarray(mean, float), jnp.full(2, np.log(share * width)), jnp.zeros((2, 2))
    )
    state = PLIState(LearnedState(), None, 0.5 / N, narrow, full_tempering(0.5 / N, 0.5 / N))
    same, row = METHOD._further(jax.random.key(0), PROBLEM, state, done=True)
    assert same.density is narrow
    assert row["steps"] == 1
    after, row = METHOD._further(jax.random.key(0), PROBLEM, state, done=False)
    assert 1 < row["steps"] <= 4
    drawn = np.asarray(after.density.sample(jax.random.key(1), 5000))
    # Without draws beyond the posterior, steps from 0.2 end at 0.82 to 0.96 of the width.
    np.testing.assert_allclose(drawn.std(axis=0), width, rtol=0.06)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1 * width)


def interrupt(after):
    def callback(row, posterior):
        if row["round"] == after:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("where", ["within the approach", "after it", "after learning"])
def test_a_resumed_run_has_the_same_bits(whole, where, tmp_path):
    expected, _ = whole
    first = approached(expected.history)
    after = {"within the approach": 1, "after it": first, "after learning": first + 1}[where]
    folder = tmp_path / "run"
    options = {"folder": folder, "progress": False}
    cut = pliant.infer(PROBLEM, METHOD, callback=interrupt(after), **options)
    assert (cut.status, len(cut.history)) == ("interrupted", after)
    assert ("before a likelihood was learned" in cut.message) == (after <= first)
    resumed = pliant.resume(folder, PROBLEM, progress=False)
    assert rows(resumed) == rows(expected)
    assert (resumed.status, resumed.message) == (expected.status, expected.message)
    np.testing.assert_array_equal(samples(resumed), samples(expected))


def test_a_loaded_run_is_the_run(whole):
    result, folder = whole
    loaded = pliant.load(folder)
    assert loaded.method == result.method == METHOD
    assert rows(loaded) == rows(result)
    assert (loaded.status, loaded.message) == (result.status, result.message)
    assert loaded.check.message == result.check.message
    np.testing.assert_array_equal(samples(loaded), samples(result))


# --- Runs that are cut --------------------------------------------------------------------------


def test_a_run_that_ends_while_it_approaches_says_so():
    method = dataclasses.replace(METHOD, rounds=2)
    with pytest.warns(pliant.PliantWarning, match="cut_short.*before a likelihood was learned"):
        result = pliant.infer(PROBLEM, method, progress=False)
    assert result.status == "cut_short"
    assert result.message.startswith("2 rounds of 2. It ended before")
    assert result.check is None  # nothing was learned by which it could be checked


def test_a_run_that_ends_before_its_target_says_so_and_is_not_called_good():
    method = dataclasses.replace(
        DIRECT, rounds=1, schedule=pliant.TrustRegion(epsilon=0.1, path="corrected")
    )
    with pytest.warns(pliant.PliantWarning, match="cut_short.*too wide"):
        result = pliant.infer(PROBLEM, method, progress=False)
    row = result.history[-1]
    assert row["level"] < 1
    assert f"The bandwidth is {1 + row['eta']:.3g} times its target" in result.message
    assert row["eta"] > 0
    assert result.check is not None
    assert "fits its target" not in result.check.message


def test_a_budget_that_ends_a_run_is_said_with_what_is_missing():
    with pytest.warns(pliant.PliantWarning, match="out_of_simulations"):
        result = pliant.infer(PROBLEM, METHOD, max_simulations=2500, progress=False)
    assert result.status == "out_of_simulations"
    assert "It ended before a likelihood was learned" in result.message
    assert "2,000 of 2,500 simulations were used" in result.message


@pytest.mark.parametrize("wanted", ["interrupted", "stopped_by_callback"])
def test_an_end_that_was_wanted_says_what_is_missing_without_a_warning(wanted):
    callback = interrupt(1) if wanted == "interrupted" else lambda row, posterior: True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pliant.infer(PROBLEM, METHOD, callback=callback, progress=False)
    assert result.status == wanted
    assert "It ended before a likelihood was learned" in result.message


# --- The default --------------------------------------------------------------------------------


def test_without_a_method_pli_chooses_and_logs_why(tmp_path, caplog):
    options = {"max_simulations": 40_000, "folder": tmp_path, "progress": False}
    with caplog.at_level("INFO", logger="pliant"):
        result = pliant.infer(PROBLEM, callback=lambda row, posterior: True, **options)
    assert "LikelihoodKL: an observation has 2 numbers" in caplog.text
    method: Any = result.method
    assert method.discrepancy == pliant.LikelihoodKL()
    assert method.rounds * method.n_particles * method.n_draws <= 40_000
    loaded = pliant.load(tmp_path)
    assert loaded.method == method
    assert loaded.reason == result.reason != ""
    assert result.reason in caplog.text
