"""``pliant report`` writes the page of a run into its folder."""

import shutil
from pathlib import Path

import pytest

from pliant._files import read_json, write_json
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.diagnosis.finding import Finding, Level
from shell import TINY, assert_one_line_error, pliant_command

SHORT = Diagnosis((Finding("fit", Level.DOUBTFUL, "Text.", "Remedy."),))


@pytest.fixture
def folder(task_run, tmp_path):
    return shutil.copytree(task_run.folder, tmp_path / "copy")


@pytest.fixture
def diagnosed(monkeypatch):
    """How often a diagnosis was made."""
    calls = []

    def diagnose(result, problem, **options):
        calls.append(options)
        return SHORT

    monkeypatch.setattr("pliant.diagnosis.diagnose.diagnose", diagnose)
    return calls


def test_a_report_makes_a_diagnosis_once(folder, diagnosed):
    outcome = pliant_command("report", folder, "--seed", 4)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith(f"doubtful: {folder}/report.html\n")
    assert "making one" in outcome.stderr
    page = (folder / "report.html").read_text()
    assert "Remedy." in page
    assert "exact posterior" in page  # the task has one
    assert pliant_command("report", folder).exit_code == 0
    assert diagnosed == [{"seed": 4}]
    assert read_json(folder / "diagnosis.json")["seed"] == 4


def test_a_diagnosis_of_another_result_is_made_again(folder, diagnosed):
    pliant_command("report", folder)
    data = read_json(folder / "result.json")
    write_json(folder / "result.json", {**data, "message": "<b>Another</b>."})
    pliant_command("report", folder)
    assert len(diagnosed) == 2
    assert "&lt;b&gt;Another&lt;/b&gt;." in (folder / "report.html").read_text()


def test_a_new_diagnosis_removes_the_page_of_the_one_before(folder, diagnosed):
    pliant_command("report", folder)
    pliant_command("diagnose", folder)
    assert not (folder / "report.html").exists()


def test_a_page_of_somebody_else_is_kept(folder, diagnosed):
    (folder / "report.html").write_text("mine")
    assert_one_line_error(pliant_command("report", folder), "is not a page of Pliant")
    assert (folder / "report.html").read_text() == "mine"


def test_an_unfinished_run_has_a_page_without_a_diagnosis(folder, diagnosed):
    for name in ("result.json", "posterior.npz", "history.json"):
        (folder / name).unlink()
    outcome = pliant_command("report", folder)
    assert outcome.exit_code == 0, outcome.output
    assert "not finished" in outcome.stdout
    assert diagnosed == []
    assert "2 of 2 rounds" in (folder / "report.html").read_text()


def test_ctrl_c_writes_nothing(folder, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.diagnosis.diagnose.diagnose", interrupted)
    outcome = pliant_command("report", folder)
    assert outcome.exit_code == 130
    assert not (folder / "report.html").exists()


def test_a_folder_without_a_run_is_a_mistake(tmp_path):
    assert_one_line_error(pliant_command("report", tmp_path), "holds no run")
    assert_one_line_error(pliant_command("report", "nowhere"), "nowhere: there is no such folder")


@pytest.mark.training
def test_a_run_from_python_needs_its_problem(model, diagnosed):
    pliant_command("run", f"{model}:problem", *TINY, "--out", "run")
    Path("run/config.json").unlink()
    assert_one_line_error(pliant_command("report", "run"), "made from Python", "Add --problem")
    outcome = pliant_command("report", "run", "--problem", f"{model}:problem")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("doubtful: run/report.html\n")  # and no other file is meant
    assert "from my_model import problem as problem" in Path("run/report.html").read_text()


def test_a_file_that_no_run_of_ones_own_recorded_is_not_executed(folder, tmp_path, diagnosed):
    model = tmp_path / "evil.py"
    model.write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    config = read_json(folder / "config.json")
    file = {"path": str(model), "sha256": "0", "signature": "0"}
    write_json(folder / "config.json", {**config, "target": f"{model}:problem", "file": file})
    assert_one_line_error(pliant_command("report", folder), "is not executed")
    assert not (tmp_path / "executed").exists()


@pytest.mark.training
def test_a_run_with_a_report_shows_itself_and_writes_the_page(model, diagnosed):
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--out", "run", "--report")
    assert outcome.exit_code == 0, outcome.output
    assert "The run is shown at http://127.0.0.1:" in outcome.stdout
    assert outcome.stdout.endswith("doubtful: run/report.html\n")


@pytest.mark.training
def test_a_failed_run_has_a_page(model):
    outcome = pliant_command("run", f"{model}:broken", *TINY, "--out", "run", "--report")
    assert outcome.exit_code == 1, outcome.output
    assert "No round gave a posterior" in Path("run/report.html").read_text()
    again = pliant_command("run", f"{model}:problem", *TINY, "--out", "run")
    assert again.exit_code == 0, again.output  # the page is in nobody's way
    assert not Path("run/report.html").exists()
