import dataclasses
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app, grid
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
    "smoke": "5fd825291bba95a2253c73b1ce66b5fc175f76b2e96bb26f0fe067a84caa59e4",
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
        "methods.ABC.epsilon: expected one of the keys method, when, rounds, n_particles, "
        "n_draws, discrepancy, alpha, perturbation, weights, tolerance, min_acceptance, chunk_size "
        "(pmc-abc), got 'epsilon'.",
    ),
    "n_particles = 200": (
        'n_particles = "200"',
        "methods.PLI.n_particles: expected an integer or \"none\", got '200'.",
    ),
    "n_particles = 50": (
        "n_parms = 50",
        "methods.PLI.when 1.n_parms: expected one of the keys task, n_obs, rounds, "
        "n_particles, n_draws, discrepancy, family, schedule, kernel, beta, projection, partition, "
        "noise_limit, reuse, chunk_size, epsilon (pli), got 'n_parms'. "
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
    with pytest.raises(GridError, match=r"^grid.toml: experiment 2.options.epsilon: expected"):
        parse_grid(GRID.replace("[0.5, 1.0]", "[0.5, -1.0]"), "grid.toml")


NESTED = """
[methods.PLI]
method = "pli"
n_draws = "none"
discrepancy = { name = "mmd", most_partners = "none", lengthscales = [1, 10.0] }
family = { layers = 3, training = { steps = 50 } }

[[methods.PLI.when]]
n_obs = 100
family = { width = 20, training = { rate = 0.01 } }
discrepancy = "wasserstein"

[[experiment]]
name = "nested"
tasks = "slcp"
n_obs = [2, 100]
seeds = 0
methods = "PLI"
options = { schedule = { path = "paper" }, epsilon = [0.5, 1], family = { bins = 6 } }
"""


def test_tables_inside_tables_reach_the_method_and_the_last_wins():
    few, _, many, _ = (run.built_method for run in parse_grid(NESTED, "grid.toml").runs)
    schedule = pliant.TrustRegion(epsilon=0.5, path="paper")
    training = pliant.SplineFlow().training
    assert few == pliant.PLI(
        discrepancy=pliant.MMD(lengthscales=(1.0, 10.0), most_partners=None),
        family=pliant.SplineFlow(
            layers=3, bins=6, training=dataclasses.replace(training, steps=50)
        ),
        schedule=schedule,
    )
    assert many == pliant.PLI(
        discrepancy=pliant.Wasserstein(),
        family=pliant.SplineFlow(
            layers=3,
            bins=6,
            width=20,
            training=dataclasses.replace(training, steps=50, rate=0.01),
        ),
        schedule=schedule,
    )


def test_a_shorthand_beside_a_table_is_varied_by_its_own_name():
    runs = parse_grid(NESTED, "grid.toml").runs
    assert [run.varied for run in runs] == [{"epsilon": 0.5}, {"epsilon": 1}] * 2
    assert runs[1].options["schedule"] == {"path": "paper", "epsilon": 1}
    methods: list[Any] = [run.built_method for run in runs]
    assert [method.schedule.epsilon for method in methods] == [0.5, 1.0] * 2


NESTED_TYPOS = {
    "steps = 50": (
        "stps = 50",
        "methods.PLI.family.training.stps: expected one of the keys steps, rate, ",
        "(Training), got 'stps'. Did you mean 'steps'?",
    ),
    "layers = 3": (
        "layers = 0",
        "methods.PLI.family.layers: expected an integer of at least 1, ",
        "got 0.",
    ),
    "width = 20": (
        'width = "none"',
        "methods.PLI.when 1.family.width: expected an integer, ",
        "got 'none'.",
    ),
    "rate = 0.01": (
        "rate = -1.0",
        "methods.PLI.when 1.family.training.rate: expected a finite number and above 0, ",
        "got -1.0.",
    ),
    "bins = 6": (
        "components = 6",
        "experiment 1.options.family.components: expected one of the keys name, layers, ",
        "(spline-flow), got 'components'.",
    ),
    "epsilon = [0.5, 1]": (
        "epsilon = [0.5, -1]",
        "experiment 1.options.epsilon: expected a finite number and above 0, ",
        "got -1.0.",
    ),
    'name = "mmd"': (
        'name = "mdm"',
        "methods.PLI.discrepancy.name: expected mmd, random-feature-mmd, ",
        "got 'mdm'. Did you mean 'mmd'?",
    ),
    "lengthscales = [1, 10.0]": (
        "lengthscales = [1, -10.0]",
        "methods.PLI.discrepancy.lengthscales[1]: expected a finite number and above ",
        "got -10.0.",
    ),
    'path = "paper"': (
        "epsilon = 2.0",
        "experiment 1.options.epsilon: schedule.epsilon is given too",
        "keep one.",
    ),
    'n_draws = "none"': (
        "beta = 0.5\nrounds = [3]",
        "methods.PLI.rounds: expected an integer, ",
        "got [3].",
    ),
}


@pytest.mark.parametrize("right", NESTED_TYPOS)
def test_a_mistake_inside_a_table_is_found_where_it_stands(right):
    wrong, start, end = NESTED_TYPOS[right]
    assert NESTED.count(right) == 1
    with pytest.raises(GridError) as caught:
        parse_grid(NESTED.replace(right, wrong), "grid.toml")
    assert str(caught.value).startswith(f"grid.toml: {start}")
    assert str(caught.value).endswith(end)


def test_parts_are_varied_by_name_and_by_table():
    options = 'options = { discrepancy = ["energy", { name = "mmd", most_partners = 7 }] }'
    text = NESTED[: NESTED.index("options = ")] + options
    runs = [run for run in parse_grid(text, "grid.toml").runs if run.n_obs == 100]
    methods: list[Any] = [run.built_method for run in runs]
    assert methods[0].discrepancy == pliant.Energy()
    assert methods[1].discrepancy == pliant.MMD(most_partners=7)
    assert "-discrepancyenergy-" in runs[0].name
    assert "-discrepancynamemmd_most_partners7-" in runs[1].name


def test_one_way_of_writing_is_one_run():
    """Names of runs do not depend on how the same options are written."""

    def names_with(options):
        text = NESTED[: NESTED.index("options = ")] + f"options = {options}"
        return [run.name for run in parse_grid(text, "grid.toml").runs]

    table = '{ schedule = { epsilon = 0.5 }, partition = { n_sets = 5 }, kernel = "gaussian" }'
    word = '{ epsilon = 0.5, partition = 5, kernel = { name = "gaussian" } }'
    assert names_with(table) == names_with(word)


def test_the_grid_in_the_documentation_is_one():
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    (text,) = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(parse_grid(text, "page").runs) == 2 * 2 * 3 + 3


def test_the_grid_in_the_docstring_is_one():
    (text,) = re.findall(r"```toml\n(.*?)```", grid.__doc__ or "", re.DOTALL)
    assert len(parse_grid(text, "docstring").runs) == 2 * 2 * 2 * 2


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
    with pytest.raises(
        GridError, match=r"light: there is no such file.* lite, paper, replication, smoke"
    ):
        read_grid("light")


def test_the_paper_and_its_smaller_copies_have_the_same_shape():
    assert shipped() == ("lite", "paper", "replication", "smoke")
    everything = {name: read_grid(name).runs for name in ("paper", "lite")}
    paper, lite = (
        [run for run in runs if run.experiment == "accuracy"] for runs in everything.values()
    )
    assert len(paper) == 5 * 8 * 5 * 10
    assert {run.n_obs for run in paper} == {1, 2, 5, 10, 20, 50, 100, 1000}
    assert {run.seed for run in paper} == set(range(10))
    tasks = {"gaussian_location", "gaussian_mixture", "slcp", "sir", "furuta"}
    assert {run.task for run in paper} == {run.task for run in lite} == tasks
    assert {run.method for run in paper} == {run.method for run in lite}
    experiments = [{run.experiment for run in runs} for runs in everything.values()]
    assert experiments[0] == experiments[1]


def test_the_replication_has_the_papers_budgets():
    """But for what the file says: the flow's training, and APT's."""
    runs = read_grid("replication").runs
    default = [run for run in runs if run.method == "PLI"]
    assert all(run.built_method == pliant.PLI() for run in default)
    assert {run.experiment for run in default} == {"accuracy"}
    others = [run for run in runs if run.method != "PLI"]
    checked = [run for run in others if run.experiment not in ("second_look", "partition")]
    for run in {id(run.built_method): run for run in checked}.values():  # seeds share a method
        method = run.built_method
        if isinstance(method, pliant.PLI):
            paper = pliant.PLI.paper(run.n_obs)
            assert (method.rounds, method.n_particles, method.n_draws) == (20, 5000, run.n_obs)
            assert (method.beta, method.noise_limit) == (paper.beta, paper.noise_limit)
            if run.method == "PLI-MMD":
                assert method.discrepancy == paper.discrepancy
            network = {name: getattr(method.family, name) for name in ("layers", "bins", "depth")}
            assert network == {"layers": 5, "bins": 10, "depth": 3}
        elif isinstance(method, pliant.PMCABC):
            assert method == pliant.PMCABC.paper(discrepancy=method.discrepancy)
        elif isinstance(method, pliant.APT) and run.task != "furuta":
            assert (method.rounds, method.n_particles, method.atoms) == (20, 5000, 10)
    accuracy = [run for run in runs if run.experiment == "accuracy"]
    cells = {(run.task, run.method, run.n_obs, run.seed) for run in accuracy}
    assert len(accuracy) == len(cells) == 5 * 5 * 7 * 3 + 6 + len(default)
    assert len(default) == 4 * 3 * 3
    assert {run.seed for run in accuracy} == {0, 1, 2}
