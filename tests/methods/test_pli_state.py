"""What a run of PLI knows between rounds."""

import dataclasses

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.densities.gaussian import gaussian_from_moments
from pliant.methods.pli_state import PLIState
from pliant.weighting.weights import Tempering

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)}, lambda key, theta: theta["mu"][None], np.zeros((3, 1))
)
BEGIN = PLIState(PROBLEM.prior, None, beta=0.1)
DENSITY = gaussian_from_moments(np.zeros(1), np.eye(1))
LATER = dataclasses.replace(BEGIN, density=DENSITY, tempering=Tempering(0.5, 0.4, level=0.6))


def test_a_run_begins_with_the_prior():
    proposal = BEGIN.proposal(PROBLEM)
    assert proposal.density is PROBLEM.prior
    assert (proposal.level, BEGIN.level) == (0.0, 0.0)
    assert BEGIN.eta == float("inf")


def test_the_next_round_draws_from_the_last_posterior():
    proposal = LATER.proposal(PROBLEM)
    assert (proposal.level, LATER.level) == (0.6, 0.6)
    assert LATER.eta == pytest.approx(3.0)
    z = jax.numpy.ones((2, 1))
    np.testing.assert_array_equal(proposal.density.log_prob(z), DENSITY.log_prob(z))


def test_the_last_posterior_with_little_of_the_likelihood_is_kept():
    broad, narrow = (gaussian_from_moments(np.zeros(1), s * np.eye(1)) for s in (4.0, 0.1))
    approached = BEGIN.moved(DENSITY, Tempering(0.5, 0.4, level=0.9), approaching=True)
    assert approached.broader is DENSITY  # its level is that of other distances
    on_the_way = approached.moved(broad, Tempering(0.5, 0.4, level=0.04))
    arrived = on_the_way.moved(narrow, Tempering(1.0, 0.1, level=1.0))
    assert (arrived.density, arrived.approaching) == (narrow, False)
    assert arrived.proposal(PROBLEM).broader is on_the_way.broader is broad
    assert BEGIN.proposal(PROBLEM).broader is None
