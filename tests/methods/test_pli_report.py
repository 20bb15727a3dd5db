"""What a round of PLI reports, against the formulas."""

import dataclasses
import re

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata

from pliant import Status
from pliant.discrepancies.base import Evaluation, Particles
from pliant.methods.pli_report import (
    converged,
    diverged,
    is_close,
    is_settled,
    round_row,
    shortfall,
    standard_error,
    too_noisy,
)
from pliant.methods.pli_state import PLIState
from pliant.weighting.weights import Tempering

ZEROS = np.zeros(4000)
GIVEN = Particles(np.random.default_rng(1).normal(size=(4000, 2)), ZEROS, ZEROS, ZEROS, ZEROS)
NONE = np.zeros((0, 0))
TEMPERING = Tempering(power=0.5, bandwidth=0.4, level=0.6)


def evaluated(log_partition=ZEROS[:0], *, errors=NONE, **row):
    return Evaluation(GIVEN, None, 0, row, np.zeros((0, 1)), log_partition, errors)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_row_has_the_bandwidth_the_divergence_and_the_effective_size(rng):
    log_w = rng.normal(size=4000)
    row = round_row(GIVEN, evaluated(usable=0.7), TEMPERING, 0.1, log_w)
    w = np.exp(log_w) / np.exp(log_w).sum()
    assert row == {
        "bandwidth": 0.4,
        "eta": pytest.approx(3.0),
        "beta": 0.1,
        "kl": pytest.approx(np.sum(w * np.log(4000 * w))),
        "ess": pytest.approx(1 / np.sum(w**2)),
        "usable": 0.7,
    }


def test_base_weights_are_what_the_divergence_is_from(rng):
    log_base = rng.normal(size=4000)
    given = dataclasses.replace(GIVEN, log_base=log_base)
    row = round_row(given, evaluated(), TEMPERING, 0.1, log_base + 3.0)
    assert row["kl"] == pytest.approx(0, abs=1e-12)


def test_the_rank_correlation_is_with_the_weights_without_the_partition_function(rng):
    """Where Z was evaluated, with the values found there; all particles have fitted ones."""
    fitted, log_w = rng.normal(size=4000), rng.normal(size=4000)
    values = fitted[:100] + rng.normal(size=100)
    given = dataclasses.replace(GIVEN, log_partition=fitted)
    plain = (log_w + fitted * 0.1 / 0.4)[:100]
    expected = pearsonr(rankdata(plain - values * 0.1 / 0.4), rankdata(plain))[0]
    found = round_row(given, evaluated(values), TEMPERING, 0.1, log_w)["spearman"]
    assert found == pytest.approx(expected, abs=1e-9)
    log_w[3], values[5] = -np.inf, -np.inf  # particles without a distance are left out
    found = round_row(given, evaluated(values), TEMPERING, 0.1, log_w)["spearman"]
    assert found == pytest.approx(expected, abs=0.05)
    assert "spearman" not in round_row(given, evaluated(), TEMPERING, 0.1, log_w)


def test_the_rank_correlation_of_one_particle_is_unknown():
    row = round_row(GIVEN, evaluated(np.ones(1)), TEMPERING, 0.1, ZEROS)
    assert np.isnan(row["spearman"])


def test_the_standard_error_is_that_over_the_posterior_and_no_constant_counts(rng):
    errors, log_w = rng.normal(size=(3, 4000)), rng.normal(size=4000)
    weights = np.exp(log_w) / np.exp(log_w).sum()
    variances = [np.cov(source, aweights=weights, ddof=0) for source in errors]
    expected = np.sum(variances) ** 0.5
    assert standard_error(errors, log_w) == pytest.approx(expected)
    constants = np.array([[5.0], [-3.0], [100.0]])
    assert standard_error(errors + constants, log_w) == pytest.approx(expected)
    row = round_row(GIVEN, evaluated(errors=errors), TEMPERING, 0.1, log_w)
    assert row["log_likelihood_se"] == pytest.approx(expected)
    for unknown in (errors[:1], errors[:0]):  # one network has nothing to differ from
        row = round_row(GIVEN, evaluated(errors=unknown), TEMPERING, 0.1, log_w)
        assert "log_likelihood_se" not in row


def test_settled_is_a_proposal_that_the_weights_leave_in_place():
    z = GIVEN.z
    assert is_settled(GIVEN, ZEROS)
    assert is_settled(GIVEN, 0.1 * z[:, 0])  # moves a mean by 0.1 of its width
    assert not is_settled(GIVEN, 0.4 * z[:, 0])  # by 0.4
    assert not is_settled(GIVEN, -0.6 * z[:, 1] ** 2)  # narrows one to 0.67
    assert not is_settled(GIVEN, 0.2 * z[:, 1] ** 2)  # widens one to 1.29
    few = np.where(np.arange(len(z)) % 10 == 0, 0.0, -50.0)
    assert not is_settled(GIVEN, few)  # a tenth has all the weight


def test_settled_is_judged_beside_the_base_weights():
    """Draws of a wider density, and weights that make them a standard normal."""
    given = dataclasses.replace(GIVEN, z=1.5 * GIVEN.z)
    log_base = -0.5 * np.sum(given.z**2 - GIVEN.z**2, axis=1)
    assert not is_settled(given, log_base)  # it has two thirds of the width of the draws
    assert is_settled(dataclasses.replace(given, log_base=log_base), log_base)


def test_close_is_a_proposal_from_which_the_full_weights_have_a_small_divergence(rng):
    full = Tempering(power=1.0, bandwidth=0.1, level=1.0)
    log_base = rng.normal(size=4000)
    given = dataclasses.replace(GIVEN, log_base=log_base)
    tilt = rng.normal(size=4000)
    for size, close in ((0.2, True), (0.5, False)):  # KL of 0.02 and 0.125
        assert is_close(given, full, log_base + size * tilt) is close
    assert not is_close(given, TEMPERING, log_base)  # half of the correction


def test_ends_say_what_happened_and_what_to_do():
    status, message = converged({"log_likelihood_se": 0.1234})
    assert status is Status.CONVERGED
    assert "standard error of 0.12 nats" in message
    assert diverged().status is Status.DIVERGED
    assert "lower learning rate" in diverged().message
    status, message = too_noisy({"distance_se": 0.0123, "noise_share": 0.934}, 20, 1e-3)
    assert status is Status.NOISE_LIMITED
    for part in ("from 20 draws", "error 0.012", "93%", "n_draws=80", "beta=0.004"):
        assert part in message


NEAR = {"networks": 3, "log_likelihood_se": 0.2}


def missing(row, *, eta=0.0, approaching=False, learned=True, settled=True):
    tempering = Tempering(power=1.0, bandwidth=0.1 * (1 + eta), level=1.0)
    state = PLIState(
        GIVEN, None, 0.1, tempering=tempering, approaching=approaching, settled=settled
    )
    return shortfall(row, state, learned=learned)


@pytest.mark.parametrize(
    ("row", "state", "said"),
    [
        (NEAR, {"approaching": True}, "before a likelihood was learned.*too wide"),
        (NEAR, {"eta": 2.5}, "bandwidth is 3.5 times its target: .* too wide"),
        (NEAR, {"eta": 2.5, "learned": False}, "bandwidth is 3.5 times"),
        (NEAR, {"settled": False}, "no round there has left the posterior as it was"),
        (NEAR | {"log_likelihood_se": 0.61}, {}, "standard error is 0.61 nats, and less than 0.35"),
        ({"networks": 3}, {}, "standard error is unknown"),
    ],
)
def test_what_is_missing_is_said_with_a_remedy(row, state, said):
    found = missing(row, **state)
    assert re.search(said, found)
    assert found.endswith("Use more rounds or a larger budget.")


@pytest.mark.parametrize(
    ("row", "state"),
    [(NEAR, {}), ({"networks": 1}, {}), ({}, {"learned": False, "settled": False})],
    ids=["learned", "one network", "measured"],
)
def test_nothing_is_missing_at_the_target(row, state):
    assert missing(row, **state) == ""
