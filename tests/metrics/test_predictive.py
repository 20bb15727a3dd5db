import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.metrics.predictive import predictive_distance
from pliant.problem import sets

DRAWS = 300


TASK = pliant.tasks.get("gaussian_location")


def problem_of(n_obs, **options):
    noise = np.random.default_rng(0).normal(size=(n_obs, 10))
    observed = np.asarray(TASK.truth["theta"]) + 0.1**0.5 * noise
    return pliant.Problem(TASK.prior, TASK.simulator, observed, **{"scale": None, **options})


def exact(problem, seed):
    return TASK.posterior_samples(problem.observed, seed=seed, n=DRAWS)


@pytest.mark.parametrize("discrepancy", [pliant.MMD(), pliant.Wasserstein()])
def test_exact_draws_score_the_floor_and_others_score_more(discrepancy):
    problem = problem_of(50)
    a, b = (predictive_distance(problem, exact(problem, s), discrepancy) for s in (1, 2))
    shifted = {"theta": exact(problem, 1)["theta"] + 0.3}
    worse = predictive_distance(problem, shifted, discrepancy)
    assert abs(a - b) < 0.02 * (worse - a)


def test_single_draws_have_a_closed_form():
    """N = M = 1: the mean of |x* - x|^2 is |x* - theta|^2 plus ten variances of 0.1."""
    one = problem_of(1)
    theta = np.full((4000, 10), 0.2)
    value = predictive_distance(one, {"theta": theta}, pliant.Wasserstein())
    expected = np.sum((np.asarray(one.observed[0]) - 0.2) ** 2) + 10 * 0.1
    assert value == pytest.approx(expected, rel=0.05)  # 3 standard errors of 4000 draws


def test_sets_are_compared_in_the_problems_scale():
    theta = exact(problem_of(20), 1)
    raw, halved = (
        predictive_distance(problem_of(20, scale=scale), theta, pliant.Euclidean())
        for scale in (None, np.full(10, 2.0))
    )
    assert halved == pytest.approx(raw / 4, rel=1e-5)  # a squared distance


def test_unusable_simulations_are_not_passed_over():
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: jax.numpy.where(theta["mu"] < 0, jax.numpy.nan, theta["mu"]),
        [0.5, 0.6],
        scale=None,
    )
    assert predictive_distance(problem, {"mu": np.array([-1.0, 1.0])}, pliant.Euclidean()) == np.inf


def test_plans_that_do_not_converge_are_a_warning():
    problem = problem_of(20)
    hasty = pliant.Wasserstein(regularisation=0.001, max_iterations=1)
    with pytest.warns(UserWarning, match="300 of 300 transport plans did not converge"):
        predictive_distance(problem, exact(problem, 1), hasty)


def test_chunks_do_not_change_the_distance(monkeypatch):
    """A thousand sets of a thousand draws pass through memory in pieces."""
    problem, theta = problem_of(20), exact(problem_of(20), 1)
    whole = predictive_distance(problem, theta, pliant.MMD())
    monkeypatch.setattr(sets, "_CHUNK_NUMBERS", 20 * 10 * 7)  # 7 sets at a time
    assert predictive_distance(problem, theta, pliant.MMD()) == whole
