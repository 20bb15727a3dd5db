"""``pliant watch`` serves the page of a run, or of a grid."""

import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pliant._files import write_json
from pliant.bench.folders import run_folder, write_error, write_grid
from pliant.cli.grid import read_grid
from pliant.cli.watch import grid_rows
from pliant.run.folder import FORMAT
from shell import assert_one_line_error, pliant_command


@pytest.fixture
def served(monkeypatch):
    """What the server answers before Ctrl-C ends it."""
    pages = {}

    def forever(self):
        with self:
            for path in ("", "state", *pages.pop("more", [])):
                try:
                    with urllib.request.urlopen(self.address + path, timeout=120) as answer:
                        pages[path] = answer.read().decode()
                except urllib.error.HTTPError as error:
                    pages[path] = error.code

    monkeypatch.setattr("pliant.reporting.server.PageServer.forever", forever)
    return pages


def test_a_run_is_served(task_run, served):
    served["more"] = ["config.json"]
    outcome = pliant_command("watch", task_run.folder)
    assert outcome.exit_code == 0, outcome.output
    assert "is shown at http://127.0.0.1:" in outcome.stdout
    assert "Report: gaussian_location" in served[""]
    assert '"version"' in served["state"]
    assert served["config.json"] == 404


def test_a_run_from_python_is_served_without_its_problem(task_run, tmp_path, served):
    folder = shutil.copytree(task_run.folder, tmp_path / "copy")
    (folder / "config.json").unlink()
    outcome = pliant_command("watch", folder)
    assert outcome.exit_code == 0
    assert "Add --problem FILE.py:NAME to see it." in outcome.stdout
    assert "Report: a run of Pliant" in served[""]


def test_a_run_from_python_is_served_with_the_problem_that_is_named(task_run, tmp_path, served):
    folder = shutil.copytree(task_run.folder, tmp_path / "copy")
    (folder / "config.json").unlink()
    task = "pliant.tasks.get('gaussian_location').problem"
    lines = [f"problem = {task}(n_obs=20, seed=3)", f"other = {task}(n_obs=21, seed=3)"]
    Path("same.py").write_text("\n".join(["import pliant", *lines]))
    outcome = pliant_command("watch", folder, "--problem", "same.py:problem")
    assert outcome.exit_code == 0, outcome.output
    assert "Add --problem" not in outcome.stdout
    assert "Report: same.py:problem" in served[""]
    assert "<dt>prior</dt>" in served[""]
    outcome = pliant_command("watch", folder, "--problem", "same.py:other")
    assert_one_line_error(outcome, "expected observations of the shape")
    outcome = pliant_command("watch", folder, "--problem", "slcp")
    assert_one_line_error(outcome, "expected FILE.py:NAME, got 'slcp'")


def test_a_file_that_may_not_be_executed_is_told(task_run, tmp_path, served):
    folder = shutil.copytree(task_run.folder, tmp_path / "copy")
    config = {"format": FORMAT, "target": "x.py:problem", "n_obs": 20, "seed": 0}
    write_json(folder / "config.json", {**config, "file": {"path": "x.py", "sha256": "0"}})
    outcome = pliant_command("watch", folder)
    assert outcome.exit_code == 0, outcome.output
    assert "is not executed" in outcome.stdout
    assert "Report: x.py:problem" in served[""]
    assert_one_line_error(pliant_command("watch", folder, "--problem", "y.py:p"), "no such file")


def test_a_folder_without_a_run_is_a_mistake(tmp_path):
    assert_one_line_error(pliant_command("watch", tmp_path), "neither a run nor a grid")
    assert_one_line_error(pliant_command("watch", "nowhere"), "nowhere: there is no such folder")


def test_a_port_is_a_number(task_run):
    assert_one_line_error(pliant_command("watch", task_run.folder, "--port", 70000), "--port")


def test_a_grid_is_served(task_run, tmp_path, served):
    grid = read_grid("smoke")
    out = tmp_path / "smoke"
    write_grid(out, grid)
    first, second = grid.runs[:2]
    write_error(run_folder(out, first), "<b>broken</b>")
    (run_folder(out, second)).mkdir()
    shutil.copy(task_run.folder / "run.json", run_folder(out, second) / "run.json")
    rows = grid_rows(out, grid)
    assert [row.state for row in rows[:3]] == ["failed", "begun", "waiting"]
    assert [row.note for row in rows[:3]] == ["<b>broken</b>", "0 rounds done", ""]
    served["more"] = [f"run/{second.name}/", "run/none/", "grid.toml"]
    outcome = pliant_command("watch", out)
    assert outcome.exit_code == 0, outcome.output
    assert "&lt;b&gt;broken&lt;/b&gt;" in served[""]
    assert f"Report: {second.task}" in served[f"run/{second.name}/"]
    assert (served["run/none/"], served["grid.toml"]) == (404, 404)
