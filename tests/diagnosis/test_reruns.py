"""Whole runs on simulated sets: ranks, resuming, workers."""

import numpy as np
import pytest

import pliant
from known_posteriors import clean, known
from pliant.diagnosis.reruns import rerun_calibration

METHOD = pliant.PLI(
    rounds=1,
    n_particles=20,
    n_draws=5,
    discrepancy=pliant.MMD(),
    family=pliant.Gaussian(),
    beta=10.0,  # which one round reaches
)


@pytest.fixture(scope="module")
def measured():
    return known(clean(n_obs=1), None).evidence()


def test_every_run_is_given_the_observed_and_a_simulated_set(measured):
    told = []
    options = {"reruns": 4, "advance": told.append}
    found, failed = rerun_calibration(measured, METHOD, **options)
    assert found.ranks.shape == (4, 2)
    assert np.all((found.ranks >= 0) & (found.ranks <= 1))
    assert told[-1] == "run 4 of 4 on simulated sets"
    assert failed == 0
    assert found.share == 1.0


def test_runs_that_are_there_are_not_made_again(measured, tmp_path):
    first, _ = rerun_calibration(measured, METHOD, reruns=2, folder=tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/result.json")}
    assert len(times) == 2
    more, _ = rerun_calibration(measured, METHOD, reruns=3, folder=tmp_path)
    np.testing.assert_array_equal(more.ranks[:2], first.ranks)
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_more_runs_than_sets_are_refused(measured):
    with pytest.raises(ValueError, match="reruns: expected 200 at most, got 300"):
        rerun_calibration(measured, METHOD, reruns=300)


@pytest.mark.usefixtures("shared_compiled_code")
def test_workers_give_the_same_ranks(measured):
    options = {"reruns": 2}
    alone, _ = rerun_calibration(measured, METHOD, **options)
    together, _ = rerun_calibration(measured, METHOD, workers=2, **options)
    np.testing.assert_allclose(together.ranks, alone.ranks, atol=1e-6)
