"""Outliers are ranked first and accused; influences are those of the closed form."""

import numpy as np
import pytest

from known_posteriors import EXACT, N_OBS, SPREAD, clean, known
from pliant.diagnosis.observations import check_observations


def table_of(observed, likelihood=EXACT):
    return check_observations(known(observed, likelihood).evidence())


def test_no_sound_observation_is_accused(evidence):
    table, (finding,) = check_observations(evidence)
    assert finding.level in ("ok", "note")
    assert not len(table.accused)
    assert sorted(table.index) == list(range(N_OBS))
    assert np.all(np.diff(table.p_value) >= 0)


def test_p_values_are_those_of_the_closed_form(evidence):
    """A loss is half a chi-square with two degrees: ``p = exp(-loss)``, averaged over mu."""
    table, _ = check_observations(evidence)
    x = np.asarray(evidence.problem.observed, float)[table.index]
    loss = ((x[None] - evidence.theta[:200, None]) ** 2).sum(axis=2) / 2
    expected = np.exp(-loss).mean(axis=0)
    np.testing.assert_allclose(table.p_value, expected, atol=0.03)


@pytest.mark.parametrize("likelihood", [EXACT, None], ids=["learned", "measured"])
def test_planted_outliers_come_first(likelihood):
    x = clean(n_obs=100)
    x[[3, 50, 77]] += np.array([6.0, -6.0])
    table, (finding,) = table_of(x, likelihood)
    assert set(table.index[:3]) == {3, 50, 77}
    assert finding.level == "doubtful"
    assert {3, 50, 77} >= set(table.accused)
    assert len(table.accused) >= 2
    assert "without" in finding.remedy
    assert np.all(np.isnan(table.influence)) == (likelihood is None)


def test_influences_are_those_of_the_closed_form(evidence):
    table, _ = check_observations(evidence)
    x = np.asarray(evidence.problem.observed, float)
    precision = 1 / SPREAD**2 + N_OBS
    mean = x.sum(axis=0) / precision
    without = (x.sum(axis=0) - x) / (precision - 1)
    expected = ((without - mean) * precision**0.5)[table.index]
    np.testing.assert_allclose(table.moved, expected, atol=0.08)  # of 2000 draws
    np.testing.assert_allclose(table.influence, np.abs(table.moved).max(axis=1))
