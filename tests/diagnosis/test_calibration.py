"""Ranks by a right likelihood are uniform; a wrong one is found, and its error is measured."""

import numpy as np
import pytest
from scipy.stats import norm

from known_posteriors import NormalLikelihood, known
from pliant.diagnosis.calibration import (
    Calibration,
    check_calibration,
    check_reruns,
    likelihood_calibration,
)

N = 200


def ranks(shift=0.0, width=1.0, n=N, seed=0):
    """Those of a Gaussian posterior that should be moved and be as many times as wide.

    With a contraction of one half and sets of N: ``m = shift / sqrt(2)``, ``s^2 = (1 + c) / 2``
    for ``c = width^2``.
    """
    noise = np.random.default_rng(seed).standard_normal((n, 1))
    u = norm.cdf(shift / np.sqrt(2) + np.sqrt((1 + width**2) / 2) * noise)
    return Calibration(("mu",), u, np.array([0.5]), 1.0)


@pytest.mark.parametrize(("shift", "width"), [(0.0, 1.0), (0.5, 1.0), (0.0, 1.5), (0.0, 0.6)])
def test_shift_and_width_are_measured(shift, width):
    found = ranks(shift, width, n=20_000)
    assert found.shift[0] == pytest.approx(shift, abs=0.05)
    assert found.width[0] == pytest.approx(width, abs=0.05)


def test_uniform_ranks_are_doubted_rarely():
    rng = np.random.default_rng(1)
    doubted = 0
    for _ in range(500):
        found = Calibration(tuple("abc"), rng.random((N, 3)), np.full(3, 0.5), 1.0)
        doubted += check_calibration(found, learned=True)[0].level != "ok"
    assert doubted <= 12  # 1 % of 500, and three deviations


def test_coverage_has_its_interval():
    found = ranks(n=100).coverage()
    assert found.shape == (1, 3, 3)
    assert np.all((found[..., 1] <= found[..., 0]) & (found[..., 0] <= found[..., 2]))
    covered = np.mean(np.abs(ranks(n=100).ranks - 0.5) <= 0.4)
    assert found[0, 1, 0] == pytest.approx(covered)


def finding_of(**options):
    evidence = known(likelihood=NormalLikelihood(**options)).evidence()
    found = likelihood_calibration(evidence, evidence.theta, evidence.names)
    return found, check_calibration(found, learned=True)[0]


def test_a_right_likelihood_is_calibrated():
    found, finding = finding_of()
    assert finding.level == "ok"
    assert found.ranks.shape == (N, 2)
    np.testing.assert_allclose(found.contraction, 0.5, atol=0.05)


@pytest.mark.parametrize(
    ("options", "level", "told"),
    [
        ({"bias": 0.15}, "unsound", "moved by"),
        ({"sharpness": 3.0}, "unsound", "times as wide"),
    ],
)
def test_a_wrong_likelihood_is_found(options, level, told):
    """A bias of 0.15 is 0.8 deviations of the posterior of 30 observations."""
    found, finding = finding_of(**options)
    assert finding.level == level
    assert told in finding.text
    assert "recalibrated" in finding.remedy
    if "bias" in options:
        np.testing.assert_allclose(found.shift, 0.82, atol=0.3)


def test_what_is_not_known_to_be_calibrated_is_doubtful():
    (finding,) = check_calibration(None, learned=False)
    assert finding.level == "doubtful"
    assert "reruns=100" in finding.remedy
    assert check_calibration(None, learned=True)[0].level == "doubtful"
    assert check_calibration(None, learned=False, reruns=True)[0].level == "skipped"


def test_reruns_that_fail_are_doubted():
    good = ranks()
    assert check_reruns(good, 0)[0].level == "ok"
    (finding,) = check_reruns(good, 50)
    assert finding.level == "doubtful"
    assert "50 of the 200 runs" in finding.text
    assert check_reruns(ranks(shift=1.0), 0)[0].level == "unsound"
