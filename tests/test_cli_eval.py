import json
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app

TINY = ["--family", "gaussian", "--n-params", "200", "--rounds", "2", "--n-sims", "20"]

MODEL = """
import jax
import numpyro.distributions as dist
import pliant

def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, [[0.5, 0.6]] * 5)
"""


def pliant_command(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="pliant")


def assert_one_line_error(outcome, *parts):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith("pliant: ")
    for part in parts:
        assert part in outcome.stderr


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def task_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "location"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(folder.parent / "cache"))
        outcome = pliant_command("run", "gaussian_location", "--n-obs", 10, *TINY, "--out", folder)
    assert outcome.exit_code == 0, outcome.output
    return folder


def test_a_task_is_scored_against_its_exact_posterior(task_run):
    outcome = pliant_command("eval", task_run, "--n-samples", 50)
    assert outcome.exit_code == 0, outcome.output
    data = json.loads((task_run / "metrics.json").read_text())
    rows = {row["name"]: row for row in data["metrics"]}
    assert (data["n_samples"], data["seed"]) == (50, 0)
    assert set(rows) == {
        *("MMD^2", "Wasserstein^2", "C2ST", "log density of truth"),
        *("predictive MMD^2", "predictive Wasserstein^2"),
    }
    truth = pliant.tasks.get("gaussian_location").truth
    expected = float(pliant.load(task_run).posterior.log_prob(truth))
    assert rows["log density of truth"]["value"] == pytest.approx(expected)
    assert rows["log density of truth"]["floor"] is None
    assert rows["Wasserstein^2"]["value"] > rows["Wasserstein^2"]["floor"] > 0
    assert re.search(r"^ +value +noise floor$", outcome.stdout, re.MULTILINE)
    for name, row in rows.items():
        assert re.search(rf"^{re.escape(name)} +{row['value']:.4g} ", outcome.stdout, re.MULTILINE)
    assert "metrics.json" in outcome.stdout


def test_a_new_result_removes_the_metrics_of_the_old_one(task_run):
    (task_run / "metrics.json").write_text("{}")
    outcome = pliant_command(
        "run", "gaussian_location", "--n-obs", 10, *TINY, "--out", task_run, "--overwrite"
    )
    assert outcome.exit_code == 0, outcome.output
    assert not (task_run / "metrics.json").exists()


def test_a_file_is_found_from_anywhere_and_changes_are_said(tmp_path, monkeypatch):
    model = tmp_path / "my_decay.py"
    model.write_text(MODEL)
    outcome = pliant_command("run", "my_decay.py:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    outcome = pliant_command("eval", "../run", "--n-samples", 20)
    assert outcome.exit_code == 0, outcome.output
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["metrics"]
    assert [row["name"] for row in rows] == ["predictive MMD^2", "predictive Wasserstein^2"]
    assert all(np.isfinite(row["value"]) and row["floor"] is None for row in rows)
    assert "changed since the run" not in outcome.stdout

    model.write_text(MODEL + "\n# a remark\n")
    outcome = pliant_command("eval", "../run", "--n-samples", 20)
    assert "my_decay.py:problem has changed since the run" in outcome.stdout
    model.unlink()
    assert_one_line_error(pliant_command("eval", "../run"), "my_decay.py: there is no such file")


def test_mistakes(task_run, tmp_path):
    assert_one_line_error(pliant_command("eval", "nowhere"), "nowhere holds no run")
    pliant.load(task_run).save("saved")
    assert_one_line_error(pliant_command("eval", "saved"), "no config.json", "table.evaluate")
    (tmp_path / "saved" / "config.json").write_text("[]")
    assert_one_line_error(pliant_command("eval", "saved"), "config.json is damaged")
    outcome = pliant_command("eval", task_run, "--n-samples", 3)
    assert_one_line_error(outcome, "--n-samples: expected an integer of at least 10, got 3.")


def test_a_missing_extra_is_named(task_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    outcome = pliant_command("eval", task_run, "--n-samples", 20)
    assert_one_line_error(outcome, "pip install 'pliant[bench]'")


def test_ctrl_c_writes_nothing(task_run, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    (task_run / "metrics.json").unlink(missing_ok=True)
    monkeypatch.setattr("pliant.metrics.table.evaluate", interrupted)
    outcome = pliant_command("eval", task_run)
    assert outcome.exit_code == 130
    assert outcome.stderr == "Interrupted: nothing was written.\n"
    assert not (task_run / "metrics.json").exists()
