"""``pliant.report`` is a function, and writes a page."""

import pytest

import pliant
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.diagnosis.finding import Finding, Level
from pliant.run.ownership import is_own
from shell import python

SHORT = Diagnosis((Finding("fit", Level.OK, "Text."),))


@pytest.mark.training
def test_a_report_is_written_and_replaced(runs, tmp_path):
    run = runs["multimodal"]
    result = pliant.load(run.folder)
    path = pliant.report(result, run.problem, tmp_path / "page.html", diagnosis=SHORT)
    assert path == tmp_path / "page.html"
    assert is_own(path)
    truth = {"mu": [1.0, 1.0]}
    pliant.report(result, run.problem, str(path), diagnosis=SHORT, truth=truth)
    assert "<th scope=" in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.training
def test_without_a_diagnosis_one_is_made(runs, tmp_path, monkeypatch):
    run = runs["multimodal"]
    calls = []

    def diagnose(*args):
        calls.append(args)
        return SHORT

    monkeypatch.setattr("pliant.reporting.report.diagnose", diagnose)
    result = pliant.load(run.folder)
    pliant.report(result, run.problem, tmp_path / "page.html")
    assert calls == [(result, run.problem)]


@pytest.mark.training
@pytest.mark.wrong_types
def test_mistakes_are_told_before_anything_is_written(runs, tmp_path):
    run, other = runs["multimodal"], runs["conditions"]
    result = pliant.load(run.folder)
    with pytest.raises(ValueError, match="observations of the shape"):
        pliant.report(result, other.problem, tmp_path / "page.html")
    with pytest.raises(TypeError, match="diagnosis"):
        pliant.report(result, run.problem, tmp_path / "page.html", diagnosis={"verdict": "sound"})
    with pytest.raises(TypeError, match="result"):
        pliant.report(3, run.problem, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.training
def test_a_run_without_a_posterior_has_a_page(runs, tmp_path):
    problem = runs["failed"].problem
    import dataclasses

    result = dataclasses.replace(
        pliant.load(runs["failed"].folder),
        posterior=pliant.Posterior(problem.prior.space, problem.prior),
        history=pliant.load(runs["failed"].folder).history[:0],
    )
    text = pliant.report(result, problem, tmp_path / "page.html").read_text()
    assert "No round gave a posterior" in text
    assert 'class="badge unsound"' in text


def test_the_public_name_is_the_function_whatever_is_imported():
    done = python(
        "import pliant, pliant.reporting.page, pliant.reporting.report\n"
        "assert callable(pliant.report) and pliant.report.__name__ == 'report'\n"
        "from pliant import report\n"
        "assert callable(report) and callable(pliant.report)"
    )
    assert done.returncode == 0, done.stderr
