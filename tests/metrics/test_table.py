import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.metrics import table
from pliant.metrics.table import evaluate
from pliant.metrics.wasserstein import exact_squared_wasserstein

pytestmark = pytest.mark.wrong_types  # a stand-in for the posterior

PARAMETERS = ["MMD^2", "Wasserstein^2", "C2ST", "log density of truth"]
PREDICTIVE = ["predictive MMD^2", "predictive Wasserstein^2"]


class Samples:
    """A posterior of given samples."""

    def __init__(self, problem, theta):
        self.space, self.theta = problem.prior.space, theta

    def sample(self, n, *, seed):
        return {name: value[:n] for name, value in self.theta.items()}

    def log_prob(self, theta):
        return np.float32(sum(np.sum(value) for value in theta.values()))


@pytest.fixture(scope="module")
def location():
    task = pliant.tasks.get("gaussian_location")
    observed = np.asarray(task.truth["theta"]) + 0.1**0.5 * np.random.default_rng(1).normal(
        size=(20, 10)
    )
    return task, pliant.Problem(task.prior, task.simulator, observed, scale=None)


@pytest.fixture
def _few_draws(monkeypatch):
    monkeypatch.setattr(table, "_DRAWS", 50)
    monkeypatch.setattr(table, "_C2ST_POINTS", 100)


@pytest.mark.usefixtures("_few_draws")
def test_an_exact_posterior_scores_its_floors(location):
    task, problem = location
    exact = Samples(problem, task.posterior_samples(problem.observed, seed=9, n=300))
    rows = {row.name: row for row in evaluate(exact, problem, task=task, n_samples=300, seed=2)}
    assert list(rows) == PARAMETERS + PREDICTIVE
    # the noise of MMD^2 at 300 points: a few of 2 sum_l 1/l times the total variance, over 300
    assert abs(rows["MMD^2"].value) < 5e-4
    assert abs(rows["MMD^2"].floor) < 5e-4
    assert rows["Wasserstein^2"].value == pytest.approx(rows["Wasserstein^2"].floor, rel=0.1)
    assert rows["C2ST"].value == pytest.approx(0.5, abs=0.12)  # 3 standard errors of 200 guesses
    assert rows["C2ST"].floor == pytest.approx(0.5, abs=0.12)
    for name in PREDICTIVE:
        assert rows[name].value == pytest.approx(rows[name].floor, rel=0.1, abs=0.02)
    truth = float(np.sum(task.truth["theta"]))  # what the posterior says to it
    assert rows["log density of truth"].value == pytest.approx(truth)
    assert rows["log density of truth"].floor is None


@pytest.mark.usefixtures("_few_draws")
def test_a_wrong_posterior_is_far_above_the_floors(location):
    task, problem = location
    theta = task.posterior_samples(problem.observed, seed=9, n=200)["theta"] + 0.2
    rows = evaluate(Samples(problem, {"theta": theta}), problem, task=task, n_samples=200, seed=2)
    rows = {row.name: row for row in rows}
    assert rows["MMD^2"].value > 0.1
    # ten shifts of 0.2
    assert rows["Wasserstein^2"].value - rows["Wasserstein^2"].floor == pytest.approx(0.4, abs=0.1)
    assert rows["C2ST"].value > 0.95
    for name in PREDICTIVE:
        assert rows[name].value > rows[name].floor + 0.05


@pytest.fixture
def _mean_parameters(monkeypatch):
    """Predictive metrics that show which draws they were given."""

    def predictive(problem, theta, discrepancy, *, seed):
        return float(np.mean(theta[problem.prior.space.names[0]]))

    monkeypatch.setattr(table, "predictive_distance", predictive)


@pytest.mark.usefixtures("_few_draws", "_mean_parameters")
def test_the_pendulum_has_predictive_metrics_and_rollouts(monkeypatch):
    monkeypatch.setattr(table, "rollout_error", lambda task, theta, *, seed: len(theta["g"]))
    task = pliant.tasks.get("furuta")
    problem = pliant.Problem(task.prior, task.simulator, np.zeros((10, 100, 6)), scale=None)
    noise = np.random.default_rng(0).normal(size=(5, 500))
    theta = {
        name: float(value) * (1 + 0.01 * noise[i])
        for i, (name, value) in enumerate(task.truth.items())
    }
    rows = evaluate(Samples(problem, theta), problem, task=task, n_samples=50)
    assert [row.name for row in rows] == ["log density of truth", *PREDICTIVE, "rollout error"]
    for row in rows[1:3]:
        assert row.value == pytest.approx(9.81, abs=0.05)  # 3 standard errors of 50 draws
        assert row.floor == pytest.approx(9.81, rel=1e-6)  # of the truth itself
    assert rows[3] == ("rollout error", 50, 0.0)


@pytest.mark.usefixtures("_mean_parameters")
def test_a_problem_of_ones_own_has_predictive_metrics_alone():
    x = np.random.default_rng(0).normal(size=(10, 2))
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)}, lambda key, t: t["mu"] + jax.random.normal(key, (2,)), x
    )
    rows = evaluate(Samples(problem, {"mu": np.arange(20.0)}), problem, n_samples=11)
    assert rows == [(name, 5.0, None) for name in PREDICTIVE]


@pytest.mark.usefixtures("_mean_parameters")
@pytest.mark.parametrize(
    ("shape", "mmd", "wasserstein"),
    [
        ((1,), 1000, 1000),
        ((1000,), 1000, 1000),
        ((1000, 8), 1000, 1000),
        ((100, 100, 6), 1000, 1000),
        ((1000, 100, 6), 1000, 100),
    ],
)
def test_checks_have_1000_draws_unless_plans_are_large(shape, mmd, wasserstein):
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: jax.numpy.full(shape[1:], theta["mu"]),
        np.zeros(shape),
        scale=None,
    )
    rows = evaluate(Samples(problem, {"mu": np.arange(2000.0)}), problem, n_samples=2000)
    assert [row.value for row in rows] == [(mmd - 1) / 2, (wasserstein - 1) / 2]


@pytest.mark.usefixtures("_mean_parameters")
@pytest.mark.parametrize(("n_obs", "draws"), [(100, 1000), (1000, 100)])
def test_slow_simulators_have_fewer_draws(n_obs, draws):
    simulator = pliant.PythonSimulator(lambda rng, theta: theta["mu"])
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)}, simulator, np.arange(float(n_obs)), scale=None
    )
    rows = evaluate(Samples(problem, {"mu": np.arange(2000.0)}), problem, n_samples=2000)
    assert [row.value for row in rows] == [(draws - 1) / 2] * 2


def test_plans_of_the_pendulum_converge(monkeypatch):
    """No warning; and the entropic distance is close to the exact one, which it cannot undercut."""
    task = pliant.tasks.get("furuta")
    problem = task.problem(n_obs=50)
    seen = []

    def predictive(problem, theta, discrepancy, *, seed):
        seen.append(discrepancy)
        return 0.0

    monkeypatch.setattr(table, "predictive_distance", predictive)
    monkeypatch.setattr(table, "_DRAWS", 1)
    theta = {name: np.full(10, value) for name, value in task.truth.items()}
    evaluate(Samples(problem, theta), problem, task=task, n_samples=10)
    plan, state = seen[2], seen[2].prepare(problem.observed)
    sets = task.observed(400, 5).reshape(8, 50, 100, 6)
    distances, counts = plan.measure(state, sets, np.ones((8, 50), bool))
    assert not np.any(counts["unconverged"])
    flat = np.asarray(problem.observed, float).reshape(50, -1)
    exact = [exact_squared_wasserstein(np.reshape(x, (50, -1)), flat) for x in sets]
    ratios = np.asarray(distances, float) / exact
    assert ratios.min() > 0.998  # marginals are met to 1e-3
    assert ratios.max() < 1.1


def test_wrong_options_are_refused(location):
    task, problem = location
    with pytest.raises(ValueError, match="n_samples: expected an integer of at least 10, got 3"):
        evaluate(None, problem, task=task, n_samples=3)
