"""A run is diagnosed from its folder."""

import json

import pytest

import pliant
from pliant._files import read_json
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.diagnosis.finding import Finding, Level
from shell import assert_one_line_error, pliant_command


@pytest.fixture
def diagnosed(task_run):
    """The run, without its diagnosis afterwards."""
    yield task_run
    for name in ("diagnosis.json", "diagnosis.png"):
        (task_run.folder / name).unlink(missing_ok=True)


def test_a_run_is_diagnosed(diagnosed):
    """The tiny run did not arrive: its posterior is unsound, and the exit code says so."""
    outcome = pliant_command("diagnose", diagnosed.folder)
    assert outcome.exit_code in (0, 1), outcome.output
    data = read_json(diagnosed.folder / "diagnosis.json")
    assert outcome.stdout.startswith(f"{data['verdict']}: ")
    assert (outcome.exit_code == 1) == (data["verdict"] == "unsound")
    assert data["seed"] == 0
    assert {finding["check"] for finding in data["findings"]} >= {"arrived", "misfit", "simulator"}
    assert (diagnosed.folder / "diagnosis.png").read_bytes().startswith(b"\x89PNG")
    assert "diagnosis.json" in outcome.stdout
    result = pliant.load(diagnosed.folder)
    problem = pliant.tasks.get("gaussian_location").problem(len(data["observations"]["index"]), 3)
    again = pliant.diagnose(result, problem, progress=lambda text: None)
    assert json.loads(json.dumps(again.as_dict()))["findings"] == data["findings"]


@pytest.mark.parametrize(
    ("level", "code"), [("ok", 0), ("note", 0), ("doubtful", 0), ("unsound", 1)]
)
def test_the_exit_code_is_that_of_the_verdict(diagnosed, monkeypatch, level, code):
    found = Diagnosis((Finding("fit", Level(level), "Text.", "Remedy."),))
    monkeypatch.setattr("pliant.diagnosis.diagnose.diagnose", lambda *_, **options: found)
    outcome = pliant_command("diagnose", diagnosed.folder, "--seed", 5)
    assert outcome.exit_code == code
    assert ("-> Remedy." in outcome.stdout) == (level != "ok")
    assert read_json(diagnosed.folder / "diagnosis.json")["seed"] == 5


def test_options_are_passed_on(diagnosed, monkeypatch):
    calls = []

    def diagnose(result, problem, **options):
        calls.append(options)
        return Diagnosis((Finding("fit", Level.OK, "Text."),))

    monkeypatch.setattr("pliant.diagnosis.diagnose.diagnose", diagnose)
    pliant_command("diagnose", diagnosed.folder, "--reruns", 7, "--workers", 2)
    assert calls == [{"seed": 0, "reruns": 7, "workers": 2, "folder": diagnosed.folder}]


def test_ctrl_c_writes_nothing(diagnosed, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.diagnosis.diagnose.diagnose", interrupted)
    outcome = pliant_command("diagnose", diagnosed.folder)
    assert outcome.exit_code == 130
    assert "no diagnosis was written" in outcome.stderr
    assert not (diagnosed.folder / "diagnosis.json").exists()


def test_a_folder_without_a_run_is_a_mistake(tmp_path):
    assert_one_line_error(pliant_command("diagnose", tmp_path), "holds no run")
