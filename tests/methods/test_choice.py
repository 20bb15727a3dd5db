"""Which discrepancy PLI chooses for a problem."""

from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.methods.choice import choose_discrepancy


def problem(*event):
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: theta["mu"] + jax.random.normal(key, event),
        np.random.default_rng(0).normal(size=(12, *event)),
    )


@pytest.mark.parametrize(
    ("event", "kind", "said"),
    [
        ((), pliant.LikelihoodKL, "LikelihoodKL: an observation has 1 number,"),
        ((5, 6), pliant.LikelihoodKL, "LikelihoodKL: an observation has 30 numbers,"),
        ((31,), pliant.LikelihoodKL, "LikelihoodKL: an observation has 31 numbers,"),
        ((2, 5, 4, 3), pliant.RatioKL, "RatioKL: an observation has 120 numbers,"),
    ],
)
def test_the_length_of_an_observation_decides(event, kind, said):
    choice = choose_discrepancy(problem(*event))
    assert type(choice.discrepancy) is kind
    assert choice.reason.startswith(said)


@pytest.mark.parametrize(
    ("event", "embedding"),
    [
        ((8,), None),
        ((40,), pliant.SeriesEmbedding()),
        ((100, 6), pliant.SeriesEmbedding()),
        ((28, 28), pliant.ImageEmbedding()),
        ((8, 8, 3), pliant.ImageEmbedding()),
        ((2, 5, 4, 3), pliant.Concatenation()),
    ],
)
def test_the_shape_of_long_observations_decides_how_they_are_embedded(event, embedding):
    discrepancy: Any = choose_discrepancy(problem(*event)).discrepancy
    assert discrepancy.embedding == embedding


def test_pli_makes_the_choice_and_tells_it():
    given, method = problem(2), pliant.PLI(rounds=7)
    chosen, reason = method.chosen(given)
    assert chosen == pliant.PLI(rounds=7, discrepancy=pliant.LikelihoodKL())
    assert reason == choose_discrepancy(given).reason
    assert chosen.chosen(given) == (chosen, "")
    assert method.resolved(given) == chosen.resolved(given)
    assert method.resolved(given).beta == pytest.approx(0.5 / 12)
    assert method.simulations_per_round(given) == chosen.simulations_per_round(given) == 2000 * 200


def test_other_methods_have_nothing_to_choose():
    method = pliant.SMCABC()
    assert method.chosen(problem(2)) == (method, "")
