import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.families.gaussian import Gaussian
from pliant.metrics import table
from pliant.metrics.table import evaluate
from pliant.posterior import Posterior

PARAMETERS = ["MMD^2", "Wasserstein^2", "C2ST", "log density of truth"]
PREDICTIVE = ["predictive MMD^2", "predictive Wasserstein^2"]


def posterior_of(problem, theta):
    """The Gaussian that fits given samples."""
    space = problem.prior.space
    z = jax.vmap(space.unconstrain)({name: jnp.asarray(value) for name, value in theta.items()})
    density, _ = Gaussian().fit(jax.random.key(0), z, jnp.zeros(len(z)))
    return Posterior(space, density)


@pytest.fixture(scope="module")
def location():
    task = pliant.tasks.get("gaussian_location")
    return task, task.problem(n_obs=20, seed=1)


@pytest.fixture
def _few_draws(monkeypatch):
    monkeypatch.setattr(table, "_DRAWS", 50)
    monkeypatch.setattr(table, "_C2ST_POINTS", 100)


@pytest.mark.usefixtures("_few_draws")
def test_an_exact_posterior_scores_its_floors(location):
    task, problem = location
    exact = posterior_of(problem, task.posterior_samples(problem.observed, seed=9, n=20_000))
    rows = {row.name: row for row in evaluate(exact, problem, task=task, n=300, seed=2)}
    assert list(rows) == PARAMETERS + PREDICTIVE
    # the noise of MMD^2 at 300 points: a few of 2 sum_l 1/l times the total variance, over 300
    assert abs(rows["MMD^2"].value) < 5e-4
    assert abs(rows["MMD^2"].floor) < 5e-4
    assert rows["Wasserstein^2"].value == pytest.approx(rows["Wasserstein^2"].floor, rel=0.1)
    assert rows["C2ST"].value == pytest.approx(0.5, abs=0.12)  # 3 standard errors of 200 guesses
    assert rows["C2ST"].floor == pytest.approx(0.5, abs=0.12)
    for name in PREDICTIVE:
        assert rows[name].value == pytest.approx(rows[name].floor, rel=0.1, abs=0.02)
    x, variance = np.asarray(problem.observed), 0.1 / 21
    off = np.asarray(task.truth["theta"]) - x.sum(0) / 21
    log_density = -0.5 * np.sum(off**2) / variance - 5 * np.log(2 * np.pi * variance)
    assert rows["log density of truth"].value == pytest.approx(log_density, abs=0.3)
    assert rows["log density of truth"].floor is None


@pytest.mark.usefixtures("_few_draws")
def test_a_wrong_posterior_is_far_above_the_floors(location):
    task, problem = location
    theta = task.posterior_samples(problem.observed, seed=9, n=2000)["theta"] + 0.2
    rows = evaluate(posterior_of(problem, {"theta": theta}), problem, task=task, n=200, seed=2)
    rows = {row.name: row for row in rows}
    assert rows["MMD^2"].value > 0.1
    # ten shifts of 0.2
    assert rows["Wasserstein^2"].value - rows["Wasserstein^2"].floor == pytest.approx(0.4, abs=0.1)
    assert rows["C2ST"].value > 0.95
    for name in PREDICTIVE:
        assert rows[name].value > rows[name].floor + 0.05


@pytest.mark.usefixtures("_few_draws")
def test_the_pendulum_has_predictive_metrics_and_rollouts():
    task = pliant.tasks.get("furuta")
    problem = task.problem(n_obs=10, seed=0)
    noise = np.random.default_rng(0).normal(size=(5, 500))
    theta = {
        name: float(value) * (1 + 0.01 * noise[i])
        for i, (name, value) in enumerate(task.truth.items())
    }
    rows = evaluate(posterior_of(problem, theta), problem, task=task, n=50)
    assert [row.name for row in rows] == ["log density of truth", *PREDICTIVE, "rollout error"]
    assert rows[1].value == pytest.approx(rows[1].floor, abs=0.2)
    assert rows[3].value > rows[3].floor == 0.0


def test_a_problem_of_ones_own_has_predictive_metrics_alone():
    x = np.random.default_rng(0).normal(size=(10, 2))
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)}, lambda key, t: t["mu"] + jax.random.normal(key, (2,)), x
    )
    rows = evaluate(posterior_of(problem, {"mu": 0.3 * x[:, 0]}), problem, n=20)
    assert [row.name for row in rows] == PREDICTIVE
    assert all(np.isfinite(row.value) and row.floor is None for row in rows)


def test_wrong_options_are_refused(location):
    task, problem = location
    with pytest.raises(ValueError, match="n: expected an integer of at least 10, got 3"):
        evaluate(None, problem, task=task, n=3)
