"""Posteriors that are moved, stretched or unevenly shared are told apart from exact ones."""

import numpy as np
import pytest

from known_posteriors import known
from pliant.diagnosis.fit import check_fit, moments


def levels(found):
    return {finding.check: finding.level for finding in check_fit(found)}


def test_an_exact_posterior_fits(evidence):
    assert set(levels(evidence).values()) == {"ok"}


@pytest.mark.parametrize(
    ("change", "off", "wide"),
    [
        ({"shift": 1.0}, -1.0, 1.0),
        ({"stretch": 2.0}, 0.0, 0.5),
        ({"stretch": 1.5}, 0.0, 1 / 1.5),
    ],
)
def test_what_is_off_is_measured(change, off, wide):
    found = known(**change).evidence()
    weights, _ = found.weighted(found.log_weights)
    shift, width = moments(found.z, weights)
    np.testing.assert_allclose(shift, off, atol=0.15)  # of 2000 weighted draws
    np.testing.assert_allclose(width, wide, atol=0.15)
    assert levels(found)["means and widths"] in ("doubtful", "unsound")


def test_a_posterior_that_is_too_narrow_is_found():
    found = levels(known(stretch=0.4).evidence())
    assert {found["fit"], found["means and widths"]} & {"doubtful", "unsound"}


def test_without_a_likelihood_nothing_is_compared():
    (finding,) = check_fit(known(likelihood=None).evidence())
    assert finding.level == "skipped"


def modes(shares, n=1000, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.choice(len(shares), n, p=shares)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])[: len(shares)]
    return centres[label] + rng.standard_normal((n, 2)), label


def test_shares_are_compared():
    from pliant.diagnosis.fit import _modes

    z, label = modes([0.5, 0.5])
    even = _modes(z, np.full(1000, 1e-3))
    assert even.level == "ok"
    weights = np.where(label == 0, 3.0, 1.0)
    uneven = _modes(z, weights / weights.sum())
    assert uneven.level == "doubtful"
    assert "2 modes" in uneven.text
    assert uneven.number == pytest.approx(0.25, abs=0.03)
