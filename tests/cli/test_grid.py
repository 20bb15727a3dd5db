import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.cli.choices import METHODS
from pliant.cli.grid import parse_grid, read_grid, shipped
from pliant.cli.grid_values import GridError
from pliant.tasks import names

GRID = """
samples = 100

[methods.PLI]
method = "pli"
n_particles = 200

[[methods.PLI.when]]
task = ["furuta", "sir"]
n_particles = 50

[[methods.PLI.when]]
n_obs = 100
rounds = 3

[methods.ABC]
method = "pmc-abc"
alpha = 0.2

[[experiment]]
name = "first"
tasks = ["slcp", "sir"]
n_obs = [2, 100]
seeds = [0, 1]
methods = ["PLI", "ABC"]

[[experiment]]
name = "second"
tasks = "slcp"
n_obs = 10
seeds = 3
methods = "PLI"
options = { rounds = 4, epsilon = [0.5, 1.0], partition = [0, 7] }
snapshots = 20
"""


def test_every_combination_is_a_run():
    runs = parse_grid(GRID, "grid.toml").runs
    assert len(runs) == 2 * 2 * 2 * 2 + 2 * 2
    assert len({run.name for run in runs}) == len(runs)
    first = runs[0]
    assert (first.task, first.method, first.n_obs, first.seed) == ("slcp", "PLI", 2, 0)
    assert first.options == {"method": "pli", "n_particles": 200}
    assert first.samples == 100
    assert first.snapshots == 0


def test_exceptions_hold_for_their_task_and_number():
    found = {
        (run.task, run.n_obs): run.options
        for run in parse_grid(GRID, "grid.toml").runs
        if (run.experiment, run.method) == ("first", "PLI")
    }
    assert found["slcp", 2] == {"method": "pli", "n_particles": 200}
    assert found["slcp", 100] == {"method": "pli", "n_particles": 200, "rounds": 3}
    assert found["sir", 2] == {"method": "pli", "n_particles": 50}
    assert found["sir", 100] == {"method": "pli", "n_particles": 50, "rounds": 3}


def test_lists_of_options_are_varied_and_single_values_are_not():
    runs = [run for run in parse_grid(GRID, "grid.toml").runs if run.experiment == "second"]
    assert [run.varied for run in runs] == [
        {"epsilon": 0.5, "partition": 0},
        {"epsilon": 0.5, "partition": 7},
        {"epsilon": 1.0, "partition": 0},
        {"epsilon": 1.0, "partition": 7},
    ]
    assert all(run.options["rounds"] == 4 and run.snapshots == 20 for run in runs)
    methods: list[Any] = [run.built_method for run in runs]
    assert [method.schedule.epsilon for method in methods] == [0.5, 0.5, 1.0, 1.0]
    assert [method.partition and method.partition.n_sets for method in methods] == [None, 7] * 2


def test_runs_with_equal_options_share_their_method():
    runs = parse_grid(GRID, "grid.toml").runs
    first, second = (run for run in runs if (run.method, run.task, run.n_obs) == ("ABC", "slcp", 2))
    assert first.seed != second.seed
    assert first.built_method is second.built_method
    assert first.built_method == pliant.PMCABC(alpha=0.2)


SHIPPED = {
    "lite": "cdf5f1126aff2e284ae7d135f8e473df86686cfdeead124025b0a0066f7f2f74",
    "smoke": "df7d21ace38f8e78884f0d70ebd9845d3a656901486bce2e316ffcb4e7772822",
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_runs_keep_their_names(name):
    """A grid that was begun with an earlier version is resumed by this one."""
    text = "\n".join(run.name for run in read_grid(name).runs)
    assert hashlib.sha256(text.encode()).hexdigest() == SHIPPED[name]


TYPOS = {
    'tasks = ["slcp", "sir"]': (
        'tasks = ["slpc"]',
        f"experiment 1.tasks: expected {', '.join(names())}, got 'slpc'. Did you mean 'slcp'?",
    ),
    'method = "pmc-abc"': (
        'method = "pmc_abc"',
        f"methods.ABC.method: expected {', '.join(METHODS)}, got 'pmc_abc'. "
        "Did you mean 'pmc-abc'?",
    ),
    "alpha = 0.2": (
        "epsilon = 0.2",
        "methods.ABC.epsilon: expected one of the keys method, when, discrepancy, rounds, "
        "n_particles, n_draws, alpha (pmc-abc), got 'epsilon'.",
    ),
    "n_particles = 200": (
        'n_particles = "200"',
        "methods.PLI.n_particles: expected an integer of at least 1, got '200'.",
    ),
    "n_particles = 50": (
        "n_parms = 50",
        "methods.PLI.when 1.n_parms: expected one of the keys task, n_obs, discrepancy, family, "
        "rounds, n_particles, n_draws, partition, beta, epsilon (pli), got 'n_parms'. "
        "Did you mean 'n_particles'?",
    ),
    "n_obs = [2, 100]": (
        "n_obs = [2, 0.5]",
        "experiment 1.n_obs: expected an integer of at least 1, got 0.5.",
    ),
    "seeds = [0, 1]": (
        "seeds = [0, 0]",
        "experiment 1.seeds: expected every value once, got [0, 0].",
    ),
    'methods = ["PLI", "ABC"]': (
        'methods = ["PLI", "APT"]',
        "experiment 1.methods: expected PLI, ABC, got 'APT'.",
    ),
    "snapshots = 20": (
        "snapshot = 20",
        "experiment 2.snapshot: expected one of the keys name, tasks, n_obs, seeds, methods, "
        "options, snapshots, got 'snapshot'. Did you mean 'snapshots'?",
    ),
    "epsilon = [0.5, 1.0]": (
        'epsilon = [0.5, "1"]',
        "experiment 2.options.epsilon: expected a number, got '1'.",
    ),
    "samples = 100": ("samples = true", "samples: expected an integer of at least 10, got True."),
    "seeds = 3": ("", "experiment 2: the key 'seeds' is missing."),
}


@pytest.mark.parametrize("right", TYPOS)
def test_a_typo_is_one_line_with_the_key_and_what_is_allowed(right):
    wrong, message = TYPOS[right]
    assert GRID.count(right) == 1
    with pytest.raises(GridError) as caught:
        parse_grid(GRID.replace(right, wrong), "grid.toml")
    assert str(caught.value) == f"grid.toml: {message}"


def test_a_value_out_of_range_is_found_before_anything_runs():
    with pytest.raises(
        GridError, match=r"^grid.toml: methods.PLI.n_particles: expected .* got 3\.$"
    ):
        parse_grid(GRID.replace("n_particles = 200", "n_particles = 3"), "grid.toml")


def test_a_value_out_of_range_in_an_experiment_is_found_there():
    with pytest.raises(GridError, match=r"^grid.toml: experiment second.options.epsilon: expected"):
        parse_grid(GRID.replace("[0.5, 1.0]", "[0.5, -1.0]"), "grid.toml")


def test_the_grid_in_the_documentation_is_one():
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    (text,) = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(parse_grid(text, "page").runs) == 2 * 2 * 3 + 3


def test_what_is_no_toml_is_one_line():
    with pytest.raises(GridError, match=r"^grid.toml: not a TOML file: .*line 1"):
        parse_grid("samples = = 3", "grid.toml")


def test_a_run_that_is_given_twice_is_a_mistake():
    again = GRID[GRID.index("[[experiment]]") :].replace("second", "third")
    with pytest.raises(GridError, match=r"first-slcp-PLI-n2-seed0-.* is there twice"):
        parse_grid(GRID + again, "grid.toml")


def test_the_command_says_a_mistake_in_one_line_and_makes_no_folder(tmp_path):
    path, out = tmp_path / "grid.toml", tmp_path / "out"
    path.write_text(GRID.replace('"slcp", "sir"', '"slpc"'))
    result = CliRunner().invoke(app, ["bench", "run", str(path), "--out", str(out)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"pliant: {path}: experiment 1.tasks: expected ")
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def test_a_grid_that_does_not_exist_names_those_that_do():
    with pytest.raises(GridError, match=r"light: there is no such file.* lite, paper, smoke"):
        read_grid("light")


def test_the_paper_and_its_smaller_copies_have_the_same_shape():
    assert shipped() == ("lite", "paper", "smoke")
    paper, lite = (
        [run for run in read_grid(g).runs if run.experiment == "accuracy"]
        for g in ("paper", "lite")
    )
    assert len(paper) == 5 * 8 * 5 * 10
    assert {run.n_obs for run in paper} == {1, 2, 5, 10, 20, 50, 100, 1000}
    assert {run.seed for run in paper} == set(range(10))
    assert {run.task for run in paper} == {run.task for run in lite} == set(names())
    assert {run.method for run in paper} == {run.method for run in lite}
    assert {run.experiment for run in read_grid("paper").runs} == {
        run.experiment for run in read_grid("lite").runs
    }
