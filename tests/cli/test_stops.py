"""Runs that are interrupted or fail, and go on."""

import numpy as np
import pytest

import pliant
from shell import TINY, assert_one_line_error, pliant_command


def interrupted_at(monkeypatch, call):
    """Make Ctrl-C arrive in the given round."""
    step, calls = pliant.PLI.step, []

    def counted(self, key, problem, state):
        calls.append(None)
        if len(calls) == call:
            raise KeyboardInterrupt
        return step(self, key, problem, state)

    monkeypatch.setattr(pliant.PLI, "step", counted)


def test_ctrl_c_saves_the_last_finished_round(model, monkeypatch):
    interrupted_at(monkeypatch, 2)
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 130
    assert "interrupted: 1 round of 2." in outcome.stdout
    assert pliant.load("run").status == "interrupted"
    assert len(pliant.load("run").history) == 1


def test_ctrl_c_in_the_first_round_writes_nothing(model, monkeypatch, tmp_path):
    interrupted_at(monkeypatch, 1)
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 130
    assert "Interrupted before a round was finished" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_before_the_first_round_writes_nothing(model, monkeypatch, tmp_path):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(pliant.PLI, "init", interrupted)
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 130
    assert outcome.stderr == "Interrupted before a round was finished: nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_says_so_and_writes_nothing(model, tmp_path):
    outcome = pliant_command("run", f"{model}:broken", *TINY, "--out", "run")
    assert outcome.exit_code == 1
    assert "failed: Only 0 of 200 parameters gave enough usable simulations." in outcome.stdout
    assert list(tmp_path.iterdir()) == []


# ---- runs that go on ----

SLOW_MODEL = """
import numpy as np
import numpyro.distributions as dist
import pliant

def draw(rng, theta):
    if theta["mu"] > 1.5:
        raise ArithmeticError("too warm")
    return theta["mu"] + rng.normal(size=2)

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, pliant.PythonSimulator(draw), [[0.5, 0.6]] * 5)
"""


@pytest.fixture
def slow_model(tmp_path):
    path = tmp_path / "slow_model.py"
    path.write_text(SLOW_MODEL)
    return path


def test_resume_goes_on_where_a_run_was_interrupted(slow_model, monkeypatch, tmp_path):
    whole = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "whole")
    assert whole.exit_code == 0, whole.output
    assert "exception (first at mu=" in whole.stdout
    assert "too warm" in whole.stdout
    with monkeypatch.context() as patch:
        interrupted_at(patch, 2)
        assert (
            pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run").exit_code == 130
        )
    outcome = pliant_command("resume", "run")
    assert outcome.exit_code == 0, outcome.output
    assert "finished: 2 rounds of 2." in outcome.stdout
    for name in ("samples.npz", "posterior.npz"):
        with np.load(f"whole/{name}") as a, np.load(f"run/{name}") as b:
            assert all(np.array_equal(a[part], b[part]) for part in a.files)
    shown = pliant_command("show", "run").stdout
    assert "too warm" in shown
    assert "simulations" in shown


def test_an_interrupted_first_round_of_a_slow_simulator_is_kept(slow_model, monkeypatch):
    from pliant.simulators.python import PythonSimulator

    draw = PythonSimulator.draw

    def interrupted(self, *args):
        yield from draw(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PythonSimulator, "draw", interrupted)
        outcome = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 130
    assert "Continue with pliant resume run" in outcome.stderr
    assert_one_line_error(pliant_command("show", "run"), "pliant resume run")
    again = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert_one_line_error(again, "not finished", "pliant resume run", "--overwrite")
    assert pliant_command("resume", "run").exit_code == 0


def test_resume_says_what_is_wrong_with_a_folder(tmp_path):
    assert_one_line_error(pliant_command("resume", "nowhere"), "holds no run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    assert_one_line_error(pliant_command("resume", "run"), "no config.json", "pliant.resume")


def test_a_cluster_is_for_simulators_outside_of_jax(model, slow_model, monkeypatch):
    outcome = pliant_command("run", f"{model}:problem", "--dask", "local")
    assert outcome.exit_code == 2
    assert "--dask: only a PythonSimulator or a CommandSimulator" in outcome.stderr
    monkeypatch.setattr("pliant.cli.dask._SECONDS", 0.5)
    outcome = pliant_command("run", f"{slow_model}:problem", "--dask", "nowhere")
    assert outcome.exit_code == 2
    assert "--dask: nowhere does not answer" in outcome.stderr
