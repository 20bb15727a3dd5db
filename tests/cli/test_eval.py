"""A run is scored from its folder."""

import errno
import hashlib
import json
import re
import sys

import numpy as np
import pytest

import pliant
from pliant._files import read_json, storing, write_json
from pliant.cli.target import read_target
from pliant.metrics.table import Metric
from pliant.run.folder import FORMAT
from shell import TINY, assert_one_line_error, pliant_command


@pytest.fixture
def scored(task_run):
    """The run, without its metrics afterwards."""
    yield task_run
    (task_run.folder / "metrics.json").unlink(missing_ok=True)


def test_a_task_is_scored_against_its_exact_posterior(scored):
    outcome = pliant_command("eval", scored.folder, "--n-samples", 50)
    assert outcome.exit_code == 0, outcome.output
    data = json.loads((scored.folder / "metrics.json").read_text())
    rows = {row["name"]: row for row in data["metrics"]}
    assert (data["n_samples"], data["seed"]) == (50, 3)
    assert set(rows) == {
        *("MMD^2", "Wasserstein^2", "C2ST", "log density of truth"),
        *("predictive MMD^2", "predictive Wasserstein^2"),
    }
    truth = pliant.tasks.get("gaussian_location").truth
    expected = float(pliant.load(scored.folder).posterior.log_prob(truth))
    assert rows["log density of truth"]["value"] == pytest.approx(expected)
    assert rows["log density of truth"]["floor"] is None
    assert rows["Wasserstein^2"]["value"] > rows["Wasserstein^2"]["floor"] > 0
    assert re.search(r"^ +value +noise floor$", outcome.stdout, re.MULTILINE)
    for name, row in rows.items():
        assert re.search(rf"^{re.escape(name)} +{row['value']:.4g} ", outcome.stdout, re.MULTILINE)
    assert "metrics.json" in outcome.stdout
    names = ("MMD^2", "Wasserstein^2", "C2ST", "predictive MMD^2", "predictive Wasserstein^2")
    assert outcome.stderr.splitlines() == [
        "drawing samples of the exact posterior",
        *(f"measuring {name}" for name in names),
    ]


def test_a_file_is_scored_from_anywhere_and_changes_are_said(model, tmp_path, monkeypatch):
    copy = tmp_path / "my_copy.py"
    copy.write_text(model.read_text())
    monkeypatch.syspath_prepend(model.parent)  # for its neighbour
    outcome = pliant_command("run", "my_copy.py:problem", *TINY, "--rounds", 1, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    outcome = pliant_command("eval", "../run", "--n-samples", 20)
    assert outcome.exit_code == 0, outcome.output
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["metrics"]
    assert [row["name"] for row in rows] == ["predictive MMD^2", "predictive Wasserstein^2"]
    assert all(np.isfinite(row["value"]) and row["floor"] is None for row in rows)
    assert "not the file of the run" not in outcome.stdout

    copy.write_text(model.read_text() + "\n# a remark\n")
    outcome = pliant_command("eval", "../run")
    assert_one_line_error(outcome, "my_copy.py has changed since", f"--problem {copy}:problem")
    named = ["--problem", "../my_copy.py:problem"]
    outcome = pliant_command("eval", "../run", "--n-samples", 20, *named)
    assert "../my_copy.py:problem is not the file of the run" in outcome.stdout
    forged = read_json(tmp_path / "run" / "config.json")
    forged["file"]["sha256"] = hashlib.sha256(copy.read_bytes()).hexdigest()
    write_json(tmp_path / "run" / "config.json", forged)
    assert_one_line_error(pliant_command("eval", "../run"), "my_copy.py is not executed")
    forged["file"] = read_target("../my_copy.py:problem", None, 0).file
    write_json(tmp_path / "run" / "config.json", forged)
    copy.unlink()
    assert_one_line_error(pliant_command("eval", "../run"), "my_copy.py: there is no such file")


def test_eval_says_what_is_wrong_with_a_folder(task_run, tmp_path):
    assert_one_line_error(pliant_command("eval", "nowhere"), "nowhere holds no run")
    pliant.load(task_run.folder).save("saved")
    assert_one_line_error(
        pliant_command("eval", "saved"), "no config.json", "pliant.metrics.evaluate"
    )
    write_json(tmp_path / "saved" / "config.json", {"format": FORMAT})
    assert_one_line_error(pliant_command("eval", "saved"), "config.json: damaged")
    outcome = pliant_command("eval", task_run.folder, "--n-samples", 3)
    assert_one_line_error(outcome, "--n-samples: expected an integer of at least 10, got 3.")


def test_a_missing_extra_is_named(task_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    outcome = pliant_command("eval", task_run.folder, "--n-samples", 20)
    assert_one_line_error(outcome, "pip install 'pliant[bench]'")


def test_ctrl_c_in_eval_writes_nothing(task_run, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.metrics.table.evaluate", interrupted)
    outcome = pliant_command("eval", task_run.folder)
    assert outcome.exit_code == 130
    assert outcome.stderr == "Interrupted: nothing was written.\n"
    assert not (task_run.folder / "metrics.json").exists()


def test_metrics_that_cannot_be_written_are_printed(task_run, monkeypatch):
    def full(path, data):
        with storing(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    rows = [Metric("C2ST", 0.625, 0.5)]
    monkeypatch.setattr("pliant.metrics.table.evaluate", lambda *args, **options: rows)
    monkeypatch.setattr("pliant._files.write_json", full)
    outcome = pliant_command("eval", task_run.folder)
    assert outcome.exit_code == 1
    assert "0.625" in outcome.stdout
    path = task_run.folder / "metrics.json"
    assert outcome.stderr == f"pliant: {path} could not be written: No space left on device.\n"
