"""The rounds before anything is learned."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.approach import begun, kept_draws
from pliant.discrepancies.base import Proposal, RoundOptions
from pliant.problem.sets import Draws, simulate_sets

N = 12
PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)},
    lambda key, theta: theta["mu"] + 0.3 * jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal(0.5, 0.3, (N, 2)),
)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def approach():
    found, simulations = begun(KEY, pliant.MMD(), PROBLEM, 50)
    assert simulations == 0
    return found


def test_its_target_is_that_of_the_metric(approach):
    assert approach.beta == pliant.MMD().default_beta(N)
    assert approach.rounds == 0


def test_it_compares_the_first_twenty_draws(approach):
    z = PROBLEM.prior.sample(KEY, 30)
    draws = simulate_sets(KEY, PROBLEM, z, 50)
    found = approach.measure(PROBLEM, draws, RoundOptions(50))
    first = Draws(draws.x[:, :20], draws.ok[:, :20])
    fewer = approach.measure(PROBLEM, first, RoundOptions(20))
    np.testing.assert_array_equal(found.distance, fewer.distance)
    distance = np.abs(np.asarray(z)[:, 0] - np.asarray(PROBLEM.observed).mean())
    assert np.corrcoef(found.distance, distance)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("level", "rounds", "row", "goes_on"),
    [
        (0.3, 0, {"noise_share": 0.2}, True),
        (0.3, 0, {"noise_share": 0.6}, False),
        (0.3, 0, {"noise_share": float("nan")}, False),
        (0.3, 0, {}, False),
        (1.0, 0, {"noise_share": 0.2}, False),
        (0.3, 4, {"noise_share": 0.2}, True),
        (0.3, 5, {"noise_share": 0.2}, False),
    ],
)
def test_it_ends_at_its_target_or_when_noise_dominates(approach, level, rounds, row, goes_on):
    approach = type(approach)(approach.measured, approach.beta, rounds)
    after = approach.after(Proposal(PROBLEM.prior, level), row)
    assert (after is not None) == goes_on
    assert after is None or after.rounds == rounds + 1


def test_without_a_metric_or_draws_there_is_none():
    assert begun(KEY, None, PROBLEM, 50) == (None, 0)
    assert begun(KEY, pliant.MMD(), PROBLEM, 1) == (None, 0)


@pytest.mark.parametrize(
    ("n_draws", "kept"), [(5, 5), (50, 50), (99, 99), (104, 52), (199, 199), (200, 50), (1000, 50)]
)
def test_rounds_that_only_approach_keep_fewer_draws(n_draws, kept):
    """Fifty or a little more, but a whole share of them."""
    assert kept_draws(n_draws) == kept
