"""Each template is written, linted and run as it is."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import pliant
from pliant.cli.new import SIMULATORS
from shell import TINY, assert_one_line_error, pliant_command

BESIDE = {"jax": [], "numpy": [], "program": ["run_program_program.py"]}
BUDGET = {"jax": TINY, "numpy": TINY, "program": [*TINY[:-6], "--max-simulations", 120]}


@pytest.mark.user_code
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_template_runs_as_it_is(simulator, tmp_path):
    file = f"run_{simulator}.py"  # a run leaves a module of this name in this process
    written = pliant_command("new", file, "--simulator", simulator)
    assert written.exit_code == 0, written.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [file, *BESIDE[simulator]]
    assert f"pliant run {file}:problem" in written.stdout.splitlines()[-1]
    ran = pliant_command("run", f"{file}:problem", *BUDGET[simulator], "--out", "run")
    assert ran.exit_code == 0, ran.output
    height = pliant.load("run").posterior.sample(200)["height"]
    assert np.all(np.isfinite(height))
    assert height.min() > 0  # the support of its prior


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_text_has_the_names_of_the_files_and_is_clean(simulator, tmp_path):
    assert pliant_command("new", "decay.py", "--simulator", simulator).exit_code == 0
    for path in tmp_path.glob("*.py"):
        assert "my_model" not in path.read_text()
    text = (tmp_path / "decay.py").read_text()
    assert "pliant run decay.py:problem" in text
    ruff = shutil.which("ruff", path=str(sys.prefix) + "/bin")
    assert ruff, "ruff belongs to the development tools: make .venv/dev"
    rules = ["--isolated", "--line-length", "100"]
    for command in (["check", *rules, "--select", "E,F,W,I,UP,B"], ["format", "--check", *rules]):
        done = subprocess.run([ruff, *command, tmp_path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("existing", ["decay.py", "decay_program.py"])
def test_no_file_is_replaced(existing, tmp_path):
    (tmp_path / existing).write_text("mine")
    outcome = pliant_command("new", "decay.py", "--simulator", "program")
    assert_one_line_error(outcome, existing, "exists already")
    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "mine"


def test_a_broken_link_is_not_followed(tmp_path):
    (tmp_path / "decay.py").symlink_to(tmp_path / "elsewhere.py")
    assert_one_line_error(pliant_command("new", "decay.py"), "exists already")
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("decay", "my_model.py"),
        ("decay.txt", "my_model.py"),
        ('a"b.py', "my_model.py"),
        ("a b.py", "my_model.py"),
        ("numpy.py", "name of a Python module"),
        ("random.py", "name of a Python module"),
        ("nowhere/decay.py", "no such folder"),
    ],
)
def test_a_name_that_cannot_work_is_refused(name, part, tmp_path):
    assert_one_line_error(pliant_command("new", name), part)
    assert list(tmp_path.iterdir()) == []


def test_another_simulator_is_refused_with_the_names():
    outcome = pliant_command("new", "decay.py", "--simulator", "nump")
    assert_one_line_error(outcome, "jax, numpy or program", "Did you mean 'numpy'?")
