"""What a diagnosis gives: texts, JSON, posteriors without observations, corrected ones."""

import json

import numpy as np
import pytest

import pliant
from known_posteriors import N_OBS, SPREAD, NormalLikelihood, clean, known
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.diagnosis.finding import Finding, Level


def diagnosed(case, **options):
    return pliant.diagnose(case.result, case.problem, progress=lambda text: None, **options)


@pytest.fixture(scope="module")
def sound(exact):
    return diagnosed(exact)


def test_the_text_begins_with_the_verdict(sound):
    lines = str(sound).splitlines()
    assert lines[0].startswith("sound: ")
    assert any(line.split()[:2] == ["ok", "arrived"] for line in lines)
    assert max(map(len, lines)) <= 100


def test_remedies_stand_below_what_they_are_for():
    found = Diagnosis((Finding("fit", Level.UNSOUND, "Too wide.", "More rounds."),))
    assert str(found).splitlines()[2:] == [" UNSOUND  fit  Too wide.", " " * 15 + "-> More rounds."]
    assert found.verdict == "unsound"


def test_everything_is_json(sound):
    data = json.loads(json.dumps(sound.as_dict(), allow_nan=False))
    assert data["verdict"] == "sound"
    assert len(data["findings"]) == len(sound.findings)
    assert data["observations"]["index"] == sound.observations.index.tolist()
    assert set(data["observations"]["moved"]) == {"mu[0]", "mu[1]"}
    assert np.shape(data["calibration"]["ranks"]) == (200, 2)
    assert data["predictive"]["names"] == list(sound.predictive.names)


def test_a_posterior_without_observations_is_that_of_the_closed_form(sound, exact):
    left_out = [0, 7, 12]
    posterior = sound.without(left_out)
    x = np.delete(np.asarray(exact.problem.observed, float), left_out, axis=0)
    precision = 1 / SPREAD**2 + N_OBS - 3
    samples = posterior.sample(4000)["mu"]
    deviation = precision**-0.5
    np.testing.assert_allclose(
        samples.mean(axis=0), x.sum(axis=0) / precision, atol=0.1 * deviation
    )
    np.testing.assert_allclose(samples.std(axis=0), deviation, rtol=0.1)


@pytest.mark.parametrize("wrong", [[], [N_OBS], [-1], list(range(N_OBS))])
def test_observations_that_are_none_are_refused(sound, wrong):
    with pytest.raises(ValueError, match="observations: expected some numbers from 0 to 29"):
        sound.without(wrong)


def test_what_cannot_be_weighted_is_refused():
    x = clean()
    x[:10] += 8.0
    found = diagnosed(known(x))
    with pytest.raises(ValueError, match="Run again without these observations"):
        found.without(np.arange(10))
    with pytest.raises(ValueError, match="learned no likelihood"):
        diagnosed(known(likelihood=None)).without([1])


def test_a_shifted_and_narrow_posterior_is_corrected():
    """A likelihood that is too sure and biased gives a posterior that is too narrow and moved."""
    likelihood = NormalLikelihood(sharpness=2.0, bias=0.15)
    case = known(likelihood=likelihood, shift=-0.82, stretch=0.7)
    found = diagnosed(case)
    assert found.verdict == "unsound"
    exact = known().result.posterior.sample(4000)["mu"]
    wrong = case.result.posterior.sample(4000)["mu"]
    right = found.recalibrated().sample(4000)["mu"]
    spread = exact.std(axis=0)
    off = [np.abs((s.mean(axis=0) - exact.mean(axis=0)) / spread).max() for s in (wrong, right)]
    assert off[0] > 0.7
    assert off[1] < 0.35
    np.testing.assert_allclose(right.std(axis=0) / exact.std(axis=0), 1.0, atol=0.25)


def test_without_a_posterior_there_is_nothing_to_correct():
    found = Diagnosis((Finding("arrived", Level.UNSOUND, "Failed."),))
    with pytest.raises(ValueError, match="no posterior"):
        found.without([0])
    with pytest.raises(ValueError, match="no posterior"):
        found.recalibrated()
    with pytest.raises(ValueError, match="no calibration"):
        diagnosed(known(likelihood=None)).recalibrated()
