"""What a folder holds for a page, whoever made it."""

import shutil

import numpy as np
import pytest

import pliant
from pliant._files import read_json, write_arrays, write_json
from pliant.reporting.content import content_of
from pliant.reporting.progress import read_subject
from pliant.reporting.saved import (
    read_diagnosis,
    read_ended,
    read_outline,
    read_samples,
    result_digest,
)
from pliant.reporting.subject import Known

pytestmark = pytest.mark.training


@pytest.fixture
def copied(runs, tmp_path):
    return shutil.copytree(runs["cut_short"].folder, tmp_path / "copy")


def test_a_diagnosis_belongs_to_its_result(copied):
    assert read_diagnosis(copied)["verdict"]
    data = read_json(copied / "history.json")
    data["rounds"][0]["seconds"] = 99.0
    write_json(copied / "history.json", data)
    assert read_diagnosis(copied) is None


@pytest.mark.parametrize("content", ["", "{}", '{"verdict": "sound"}'])
def test_a_damaged_diagnosis_counts_as_none(copied, content):
    (copied / "diagnosis.json").write_text(content)
    assert read_diagnosis(copied) is None


def test_a_forged_diagnosis_counts_as_none(copied):
    """Its checksum and its digest are right, and its numbers are texts."""
    data = read_json(copied / "diagnosis.json")
    data["predictive"]["observed"][0] = "<script>"
    write_json(copied / "diagnosis.json", data)
    assert data["of"] == result_digest(copied)
    assert read_diagnosis(copied) is None


def test_samples_that_do_not_fit_are_drawn_again(copied):
    result = pliant.load(copied)
    names = result.posterior.space.names or ()
    assert set(read_samples(copied, result) or {}) == set(names)
    write_arrays(copied / "samples.npz", {name: np.zeros((5, 3)) for name in names})
    assert read_samples(copied, result) is None
    subject = read_ended(copied, Known())
    assert len(subject.samples["mu"]) == 10_000
    (copied / "samples.npz").unlink()
    assert read_samples(copied, result) is None


def test_a_result_with_a_class_of_the_users_own_shows_the_rest(copied):
    data = read_json(copied / "result.json")
    data["method"]["schedule"]["class"] = "Mine"
    write_json(copied / "result.json", data)
    with pytest.raises(ValueError, match="not a class of Pliant"):
        read_ended(copied, Known())
    subject = read_subject(copied, Known())
    assert (str(subject.status), len(subject.history), subject.method) == ("cut_short", 3, None)
    assert "pass classes=[Mine]" in subject.message
    assert len(subject.samples["mu"]) == 10_000
    assert content_of(subject)["posterior"]["rows"][0]["name"] == "mu"
    (copied / "posterior.npz").write_bytes(b"half")
    assert read_outline(copied, Known(), "").posterior is None
    (copied / "history.json").write_text("{")
    assert read_outline(copied, Known(), "") is None


def test_a_problem_of_another_run_is_left_out(copied, runs):
    assert read_ended(copied, Known(runs["cut_short"].problem)).known.problem is not None
    subject = read_ended(copied, Known(runs["conditions"].problem))
    assert subject.known.problem is None
    assert "contraction" not in content_of(subject)["posterior"]["rows"][0]


def test_a_folder_without_a_result_is_a_mistake(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_ended(tmp_path, Known())
