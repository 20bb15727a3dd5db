"""What a round of PLI reports, against the formulas."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata

from pliant import Status
from pliant.discrepancies.base import Evaluation, Particles
from pliant.methods.pli_report import converged, diverged, is_settled, round_row, too_noisy
from pliant.weighting.weights import Tempering

ZEROS = np.zeros(4000)
GIVEN = Particles(np.random.default_rng(1).normal(size=(4000, 2)), ZEROS, ZEROS, ZEROS, ZEROS)
TEMPERING = Tempering(power=0.5, bandwidth=0.4, level=0.6)


def evaluated(log_partition=ZEROS[:0], **row):
    return Evaluation(GIVEN, None, 0, row, np.zeros((0, 1)), log_partition)


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


def test_settled_is_a_proposal_that_the_weights_leave_in_place():
    z = GIVEN.z
    assert is_settled(GIVEN, ZEROS)
    assert is_settled(GIVEN, 0.1 * z[:, 0])  # moves a mean by 0.1 of its width
    assert not is_settled(GIVEN, 0.4 * z[:, 0])  # by 0.4
    assert not is_settled(GIVEN, -0.6 * z[:, 1] ** 2)  # narrows one to 0.67
    assert not is_settled(GIVEN, 0.2 * z[:, 1] ** 2)  # widens one to 1.29


def test_ends_say_what_happened_and_what_to_do():
    assert converged().status is Status.CONVERGED
    assert diverged().status is Status.DIVERGED
    assert "lower learning rate" in diverged().message
    status, message = too_noisy({"distance_se": 0.0123, "noise_share": 0.934}, 20, 1e-3)
    assert status is Status.NOISE_LIMITED
    for part in ("from 20 draws", "error 0.012", "93%", "n_draws=80", "beta=0.004"):
        assert part in message
