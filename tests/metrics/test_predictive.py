import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.metrics.predictive import predictive_distance

DRAWS = 300


@pytest.fixture(scope="module")
def problem():
    return pliant.tasks.get("gaussian_location").problem(n_obs=50, seed=0)


def exact(problem, seed):
    task = pliant.tasks.get("gaussian_location")
    return task.posterior_samples(problem.observed, seed=seed, n=DRAWS)


@pytest.mark.parametrize("discrepancy", [pliant.MMD(), pliant.Wasserstein()])
def test_exact_draws_score_the_floor_and_others_score_more(problem, discrepancy):
    a, b = (predictive_distance(problem, exact(problem, s), discrepancy) for s in (1, 2))
    shifted = {"theta": exact(problem, 1)["theta"] + 0.3}
    worse = predictive_distance(problem, shifted, discrepancy)
    assert abs(a - b) < 0.02 * (worse - a)


def test_single_draws_have_a_closed_form(problem):
    """N = M = 1: the mean of |x* - x|^2 is |x* - theta|^2 plus ten variances of 0.1."""
    one = pliant.tasks.get("gaussian_location").problem(n_obs=1, seed=0)
    theta = np.full((4000, 10), 0.2)
    value = predictive_distance(one, {"theta": theta}, pliant.Wasserstein())
    expected = np.sum((np.asarray(one.observed[0]) - 0.2) ** 2) + 10 * 0.1
    assert value == pytest.approx(expected, rel=0.05)  # 3 standard errors of 4000 draws


def test_sets_are_compared_in_the_problems_scale():
    """Other units of the data change nothing, as the scale comes from the observations."""
    x = np.random.default_rng(0).normal(size=(30, 2))
    theta = {"mu": np.linspace(-1, 1, 50)}
    prior = {"mu": dist.Normal(0, 1)}

    def in_units(unit):
        def simulator(key, theta):
            return unit * (theta["mu"] + jax.random.normal(key, (2,)))

        return pliant.Problem(prior, simulator, unit * x)

    values = [predictive_distance(in_units(u), theta, pliant.MMD()) for u in (1.0, 1000.0)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_unusable_simulations_are_not_passed_over():
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: jax.numpy.where(theta["mu"] < 0, jax.numpy.nan, theta["mu"]),
        [0.5, 0.6],
        scale=None,
    )
    assert predictive_distance(problem, {"mu": np.array([-1.0, 1.0])}, pliant.MMD()) == np.inf
