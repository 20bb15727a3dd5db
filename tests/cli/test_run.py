"""Runs that finish, are interrupted or fail, and are resumed."""

import errno
import hashlib
import json
import platform
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pliant
from pliant._files import write_json
from pliant.run.folder import CONTENTS
from pliant.simulators.dispatch import ExecutorError
from pliant.simulators.python import PythonSimulator
from shell import ABC, NOT_THERE, TINY, assert_one_line_error, pliant_command, said


def test_a_run_prints_its_end(task_run):
    lines = task_run.output.splitlines()
    assert lines[0].startswith(
        "gaussian_location: 20 observations, 10 parameters; 2 rounds of up to 4,000"
    )
    assert lines[1].startswith("cut_short: 2 rounds of 2. The bandwidth is ")
    assert re.search(r"mean +sd +5 % +50 % +95 % +truth", task_run.output)
    assert re.search(r"theta\[9\].* -0\.3725\b", task_run.output)
    assert re.search(r"2 rounds, [\d,]+ simulations, \d+\.\d seconds", task_run.output)
    assert f"{task_run.folder}/" in lines
    assert "\x1b" not in task_run.output


def test_a_run_without_a_terminal_tells_each_round(task_run):
    first, *rounds, last = task_run.told.splitlines()
    assert first == "round 1 of 2: compiling"
    for number, line in enumerate(rounds, 1):
        assert re.fullmatch(
            rf"round {number} of 2: \S+ \S+ left, bandwidth .*, simulations .*", line
        )
    assert len(rounds) == 2
    assert last == "drawing samples of the exact posterior"


@pytest.fixture
def announced(monkeypatch):
    """What a run prints and writes before its first round, which is not made."""

    def announce(*args):
        found = SimpleNamespace()

        def interrupted(store, *args, **options):
            found.config = json.loads((store.folder / "config.json").read_text())
            raise KeyboardInterrupt

        monkeypatch.setattr("pliant.run.infer.infer_into", interrupted)
        outcome = pliant_command("run", *args, "--out", "run")
        assert outcome.exit_code == 130, outcome.output
        found.lines = outcome.stdout.splitlines()
        return found

    return announce


def test_a_run_says_which_discrepancy_it_chose_and_why(announced):
    found = announced("slcp")
    first, reason = found.lines
    assert first == ("slcp: 100 observations, 5 parameters; 20 rounds of up to 400,000 simulations")
    assert reason == "LikelihoodKL: an observation has 8 numbers, so its likelihood is learned."
    assert found.config["changed"] == {"discrepancy": "LikelihoodKL()"}
    assert found.config["resolved"]["n_draws"] == 200


def test_a_run_with_a_discrepancy_of_the_user_has_no_reason_to_give(announced):
    assert len(announced("slcp", "--discrepancy", "energy").lines) == 1


def test_a_run_says_how_often_it_calls_a_slow_simulator(announced, slow_model):
    last = "The rounds call the simulator at most {} times; --max-simulations limits this."
    assert announced(f"{slow_model}:problem").lines[-1] == last.format("800,000")
    sizes = ["--n-particles", 200, "--n-draws", 20, "--rounds", 3]
    assert announced(f"{slow_model}:problem", *sizes).lines[-1] == last.format("12,000")
    limited = announced(f"{slow_model}:problem", *sizes, "--max-simulations", 9_000)
    assert limited.lines[-1] == last.format("9,000")


def test_a_run_fills_its_folder(task_run):
    assert {path.name for path in task_run.folder.iterdir()} == set(CONTENTS) - NOT_THERE
    for name in ("pairs.png", "history.png"):
        assert (task_run.folder / name).read_bytes().startswith(b"\x89PNG")
    result = pliant.load(task_run.folder)
    assert (result.status, result.seed, len(result.history)) == ("cut_short", 3, 2)
    with np.load(task_run.folder / "samples.npz", allow_pickle=False) as samples:
        assert samples.files == ["theta"]
        assert samples["theta"].shape == (10_000, 10)
        np.testing.assert_array_equal(
            samples["theta"], result.posterior.sample(10_000, seed=3)["theta"]
        )


def test_config_says_how_to_repeat_the_run(task_run):
    config = json.loads((task_run.folder / "config.json").read_text())
    assert config["command"] == (
        "pliant run gaussian_location --n-obs 20 --seed 3 --method pli-mmd --family gaussian "
        "--rounds 2 --n-particles 200 --n-draws 20"
    )
    assert (config["target"], config["n_obs"], config["seed"]) == ("gaussian_location", 20, 3)
    assert config["given"]["family"] == "gaussian"
    assert "beta" not in config["given"]
    assert config["resolved"]["beta"] == pytest.approx(0.05 / 20)
    assert config["resolved"]["family"]["class"] == "Gaussian"
    expected = {"rounds": 2, "n_particles": 200, "n_draws": 20}
    expected |= {"discrepancy": "MMD()", "family": "Gaussian()"}
    assert config["changed"] == expected
    assert config["versions"]["python"] == platform.python_version()
    assert set(config["versions"]) >= {"pliant", "jax", "numpyro", "numpy"}


def test_show_prints_a_run(task_run):
    outcome = pliant_command("show", task_run.folder)
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("cut_short: 2 rounds of 2. The bandwidth is ")
    assert lines[1] == (
        "gaussian_location: 20 observations, seed 3, "
        "PLI(rounds=2, n_particles=200, n_draws=20, discrepancy=MMD(), family=Gaussian())"
    )
    assert re.search(r"round +bandwidth +KL +ESS", outcome.stdout)
    history = json.loads((task_run.folder / "history.json").read_text())["rounds"]
    assert f"{history[1]['bandwidth']:.3g}" in outcome.stdout
    summary = [line for line in task_run.output.splitlines() if line.startswith("theta[")]
    assert summary == [line for line in lines if line.startswith("theta[")]
    assert "pairs.png" in outcome.stdout


def test_show_a_result_that_python_saved(model):
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--rounds", 1, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    pliant.load("run").save("saved")
    outcome = pliant_command("show", "saved")
    assert outcome.exit_code == 0, outcome.output
    method = "PLI(rounds=1, n_particles=200, n_draws=20, discrepancy=MMD(), family=Gaussian())"
    assert outcome.stdout.splitlines()[1] == f"seed 0, {method}"
    assert re.search(r"^mu +-?\d", outcome.stdout, re.MULTILINE)
    assert "pairs.png" not in outcome.stdout


def test_a_problem_in_a_file_and_its_default_folder(model, tmp_path):
    outcome = pliant_command("run", f"{model}:make", *TINY, "--seed", 4)
    assert outcome.exit_code == 0, outcome.output
    folder = tmp_path / "runs" / "my_model-make-4"
    assert {path.name for path in folder.iterdir()} == set(CONTENTS) - NOT_THERE
    assert "truth" not in outcome.stdout
    config = json.loads((folder / "config.json").read_text())
    assert config["file"]["path"] == str(model)
    assert len(config["file"]["sha256"]) == 64
    assert config["n_obs"] == 5

    for name in ("metrics.json", "diagnosis.json"):
        write_json(folder / name, {"metrics": []})
    (folder / "diagnosis.png").touch()
    budget = ["--max-simulations", 200 * 20 + 1024]  # one round, and the pilot of the scales
    outcome = pliant_command("run", f"{model}:make", *TINY, "--seed", 4, *budget, "--overwrite")
    assert outcome.exit_code == 0, outcome.output
    assert "out_of_simulations: Another round would exceed 5,024 simulations." in outcome.stdout
    assert len(pliant.load(folder).history) == 1
    for name in ("metrics.json", "diagnosis.json", "diagnosis.png"):
        assert not (folder / name).exists()  # they were those of the result before


@pytest.mark.parametrize(("name", "rounds"), [("rejection-abc", 25), ("mh-abc", 3)])
def test_a_sampler_fills_its_folder(model, name, rounds):
    kind = ABC[name]
    options = ["--method", name, "--n-particles", 50, "--rounds", rounds, "--n-draws", 5]
    outcome = pliant_command("run", f"{model}:problem", *options, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    assert {path.name for path in Path("run").iterdir()} == set(CONTENTS) - NOT_THERE
    assert type(pliant.load("run").method).__name__ == kind
    shown = pliant_command("show", "run").stdout
    assert f"{kind}(rounds={rounds}, n_particles=50, n_draws=5)" in shown
    assert re.search(r"round +bandwidth +ESS +unique +accepted +min D", shown)


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


@pytest.mark.parametrize("name", ["samples.npz", "history.png", "pairs.png"])
def test_a_disk_that_is_full_at_the_end_keeps_the_result(model, name, monkeypatch):
    replace = Path.replace

    def full(self, target):
        if target.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--rounds", 1, "--out", "run")
    assert outcome.exit_code == 1
    assert said(outcome) == [f"pliant: run/{name} could not be written: No space left on device."]
    assert pliant.load("run").status == "cut_short"
    assert not [path for path in Path("run").iterdir() if "unfinished" in path.name]


# ---- runs that are resumed ----


def test_an_interrupted_run_is_resumed(slow_model, monkeypatch, tmp_path):
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
    assert "cut_short: 2 rounds of 2." in outcome.stdout
    for name in ("samples.npz", "posterior.npz"):
        with np.load(f"whole/{name}") as a, np.load(f"run/{name}") as b:
            assert all(np.array_equal(a[part], b[part]) for part in a.files)
    shown = pliant_command("show", "run").stdout
    assert "too warm" in shown
    assert "simulations" in shown


def test_an_interrupted_first_round_of_a_slow_simulator_is_kept(slow_model, monkeypatch):
    draw = PythonSimulator.draw

    def interrupted(self, *args):
        yield from draw(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PythonSimulator, "draw", interrupted)
        outcome = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 130
    assert "Resume with: pliant resume run" in outcome.stderr
    assert_one_line_error(pliant_command("show", "run"), "pliant resume run")
    again = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert_one_line_error(again, "not finished", "pliant resume run", "--overwrite")
    assert pliant_command("resume", "run").exit_code == 0


def test_draws_of_a_broken_executor_are_kept_and_resumed(slow_model, monkeypatch, tmp_path):
    def broken(self, *args):
        yield next(draw(self, *args))
        raise ExecutorError("The executor broke.")

    draw = PythonSimulator.draw
    (tmp_path / "run").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(PythonSimulator, "draw", broken)
        outcome = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert outcome.exit_code == 1
    assert "failed: The executor broke." in outcome.stdout
    assert "the draws are kept. Resume with: pliant resume run" in outcome.stderr
    assert len(list(tmp_path.glob("run/simulations/*/*.npz"))) == 1
    assert pliant_command("resume", "run").exit_code == 0


def test_resume_says_what_is_wrong_with_a_folder(tmp_path):
    assert_one_line_error(pliant_command("resume", "nowhere"), "holds no run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    assert_one_line_error(pliant_command("resume", "run"), "no config.json", "pliant.resume")


def test_resume_executes_no_file_that_a_stranger_names(tmp_path):
    from pliant.run.folder import FORMAT

    (tmp_path / "run").mkdir()
    evil, mark = tmp_path / "run" / "evil.py", tmp_path / "mark"
    evil.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n")
    file = {"path": str(evil), "sha256": hashlib.sha256(evil.read_bytes()).hexdigest()}
    config = {"target": "evil.py:problem", "file": file, "n_obs": 5, "seed": 0}
    write_json(tmp_path / "run" / "config.json", {"format": FORMAT, **config})
    (tmp_path / "run" / "run.json").write_text("{}")
    outcome = pliant_command("resume", "run")
    assert_one_line_error(outcome, "evil.py is not executed", f"--problem {evil}:problem")
    assert not mark.exists()
    outcome = pliant_command("resume", "run", "--problem", f"{evil}:problem")
    assert_one_line_error(outcome, "there is no 'problem' in it")
    assert mark.exists()
