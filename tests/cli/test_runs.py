"""A run fills its folder, and is shown again from there."""

import json
import platform
import re
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant._files import write_json
from pliant.run.folder import CONTENTS, FORMAT
from shell import ABC, TINY, assert_one_line_error, pliant_command, python

NOT_THERE = {"metrics.json", "simulations"}  # before pliant eval, and with JAX simulators


def test_a_run_fills_its_folder(task_run):
    assert {path.name for path in task_run.folder.iterdir()} == set(CONTENTS) - NOT_THERE
    for name in ("pairs.png", "history.png"):
        assert (task_run.folder / name).read_bytes().startswith(b"\x89PNG")
    result = pliant.load(task_run.folder)
    assert (result.status, result.seed, len(result.history)) == ("finished", 3, 2)
    with np.load(task_run.folder / "samples.npz", allow_pickle=False) as samples:
        assert samples.files == ["theta"]
        assert samples["theta"].shape == (10_000, 10)
        np.testing.assert_array_equal(
            samples["theta"], result.posterior.sample(10_000, seed=3)["theta"]
        )


def test_config_says_how_to_repeat_the_run(task_run):
    config = json.loads((task_run.folder / "config.json").read_text())
    assert config["command"] == (
        "pliant run gaussian_location --n-obs 20 --seed 3 --method pli --family gaussian "
        "--rounds 2 --n-particles 200 --n-draws 20"
    )
    assert (config["target"], config["n_obs"], config["seed"]) == ("gaussian_location", 20, 3)
    assert config["given"]["family"] == "gaussian"
    assert "beta" not in config["given"]
    assert config["resolved"]["beta"] == pytest.approx(0.05 / 20)
    assert config["resolved"]["family"]["class"] == "Gaussian"
    expected = {"rounds": 2, "n_particles": 200, "n_draws": 20, "family": "Gaussian()"}
    assert config["changed"] == expected
    assert config["versions"]["python"] == platform.python_version()
    assert set(config["versions"]) >= {"pliant", "jax", "numpyro", "numpy"}


def test_a_run_prints_its_end(task_run):
    lines = task_run.output.splitlines()
    assert lines[0].startswith(
        "gaussian_location: 20 observations, 10 parameters; 2 rounds of up to 4,000"
    )
    assert lines[1] == "finished: 2 rounds of 2."
    assert re.search(r"mean +sd +5 % +50 % +95 % +truth", task_run.output)
    assert re.search(r"theta\[9\].* -0\.3725\b", task_run.output)
    assert re.search(r"2 rounds, [\d,]+ simulations, \d+\.\d seconds", task_run.output)
    assert f"{task_run.folder}/" in lines
    assert "\x1b" not in task_run.output


def test_show_prints_a_run(task_run):
    outcome = pliant_command("show", task_run.folder)
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    assert lines[0] == "finished: 2 rounds of 2."
    assert lines[1] == (
        "gaussian_location: 20 observations, seed 3, "
        "PLI(rounds=2, n_particles=200, n_draws=20, family=Gaussian())"
    )
    assert re.search(r"round +bandwidth +KL +ESS", outcome.stdout)
    history = json.loads((task_run.folder / "history.json").read_text())["rounds"]
    assert f"{history[1]['bandwidth']:.3g}" in outcome.stdout
    summary = [line for line in task_run.output.splitlines() if line.startswith("theta[")]
    assert summary == [line for line in lines if line.startswith("theta[")]
    assert "pairs.png" in outcome.stdout


def test_show_does_not_load_jax(task_run):
    code = (
        "import sys\n"
        f"sys.argv = ['pliant', 'show', {str(task_run.folder)!r}]\n"
        "from pliant.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert 'jax' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_a_result_is_not_overwritten(task_run):
    before = (task_run.folder / "result.json").read_bytes()
    outcome = pliant_command("run", "gaussian_location", *TINY, "--out", task_run.folder)
    assert_one_line_error(outcome, str(task_run.folder), "holds a result already", "--overwrite")
    assert (task_run.folder / "result.json").read_bytes() == before


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

    (folder / "metrics.json").write_text("{}")
    budget = ["--max-simulations", 200 * 20 + 1024]  # one round, and the pilot of the scales
    outcome = pliant_command("run", f"{model}:make", *TINY, "--seed", 4, *budget, "--overwrite")
    assert outcome.exit_code == 0, outcome.output
    assert "out_of_simulations: Another round would exceed 5,024 simulations." in outcome.stdout
    assert len(pliant.load(folder).history) == 1
    assert not (folder / "metrics.json").exists()  # they were those of the result before


@pytest.mark.parametrize("name", ["rejection-abc", "mh-abc"])
def test_a_sampler_fills_its_folder(model, name):
    kind = ABC[name]
    options = ["--method", name, "--n-particles", 50, "--rounds", 25, "--n-draws", 5]
    outcome = pliant_command("run", f"{model}:problem", *options, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    assert {path.name for path in Path("run").iterdir()} == set(CONTENTS) - NOT_THERE
    assert type(pliant.load("run").method).__name__ == kind
    shown = pliant_command("show", "run").stdout
    assert f"{kind}(rounds=25, n_particles=50, n_draws=5)" in shown
    assert re.search(r"round +bandwidth +ESS +unique +accepted +min D", shown)


def test_show_a_result_that_python_saved(model, tmp_path):
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--rounds", 1, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    pliant.load("run").save("saved")
    outcome = pliant_command("show", "saved")
    assert outcome.exit_code == 0, outcome.output
    method = "PLI(rounds=1, n_particles=200, n_draws=20, family=Gaussian())"
    assert outcome.stdout.splitlines()[1] == f"seed 0, {method}"
    assert re.search(r"^mu +-?\d", outcome.stdout, re.MULTILINE)
    assert "pairs.png" not in outcome.stdout


def test_show_says_what_is_wrong_with_a_folder(task_run, tmp_path):
    assert_one_line_error(pliant_command("show", "nowhere"), "nowhere holds no run")
    (tmp_path / "run").mkdir()
    write_json(tmp_path / "run" / "result.json", {"format": FORMAT})
    assert_one_line_error(pliant_command("show", "run"), "history.json is missing")
    (tmp_path / "run" / "history.json").write_text("[")
    assert_one_line_error(pliant_command("show", "run"), "history.json: not a JSON file")
