"""What a page is about."""

import dataclasses

import numpy as np
import pytest

from pliant.reporting.subject import N_SAMPLES, Known, subject_of

pytestmark = pytest.mark.training


def test_samples_are_drawn_with_the_seed_of_the_run(runs):
    import pliant

    result = pliant.load(runs["cut_short"].folder)
    subject = subject_of(result, Known())
    expected = result.posterior.sample(N_SAMPLES, seed=result.seed)
    for name, values in expected.items():
        np.testing.assert_array_equal(subject.samples[name], values)
    assert subject.has_posterior
    assert not subject.is_running


def test_a_run_without_a_status_goes_on(runs):
    subject = dataclasses.replace(runs["failed"].subject, status=None, posterior=None)
    assert subject.is_running
    assert not subject.has_posterior
