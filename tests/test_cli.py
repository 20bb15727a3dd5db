import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.cli.choices import DISCREPANCIES, FAMILIES, METHODS, build_method
from pliant.cli.run_folder import CONTENTS, changed_options, command_line

ABC = {
    "rejection-abc": "RejectionABC",
    "smc-abc": "SMCABC",
    "pmc-abc": "PMCABC",
    "mh-abc": "MHABC",
}
NOT_THERE = {"metrics.json", "simulations"}  # before pliant eval, and with JAX simulators
TINY = ["--family", "gaussian", "--n-params", "200", "--rounds", "2", "--n-sims", "20"]

# a file of its own, so that it stays imported and is compiled once for all runs
NEIGHBOUR = """
import jax

def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))
"""

MODEL = """
import jax
import numpyro.distributions as dist
import pliant
from neighbour_of_my_model import simulator

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, [[0.5, 0.6]] * 5)

def make():
    return problem

number = 3

def fails():
    raise RuntimeError("no data\\nin the file")

broken = pliant.Problem(
    {"mu": dist.Normal(0, 1)}, lambda key, theta: jax.numpy.log(-1 - theta["mu"]**2), [0.5]
)
"""


def pliant_command(*args):
    """Run ``pliant`` in this process; the output is as in a file, without colours."""
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="pliant")


def python(code):
    """Run code in a process of its own, which finds the same Pliant as this one."""
    source = str(Path(pliant.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_one_line_error(outcome, *parts):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith("pliant: ")
    for part in parts:
        assert part in outcome.stderr


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path, monkeypatch):
    """No test may write into the project's folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "my_model.py"
    path.with_name("neighbour_of_my_model.py").write_text(NEIGHBOUR)
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def task_run(tmp_path_factory):
    """One small run of a built-in task, which several tests look at."""
    folder = tmp_path_factory.mktemp("runs") / "location"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(folder.parent / "cache"))
        outcome = pliant_command(
            "run", "gaussian_location", "--n-obs", 20, "--seed", 3, *TINY, "--out", folder
        )
    assert outcome.exit_code == 0, outcome.output
    return SimpleNamespace(folder=folder, output=outcome.stdout)


# ---- help ----


@pytest.mark.parametrize("command", [[], ["run"], ["resume"], ["show"], ["eval"], ["tasks"]])
def test_help_shows_usage_and_an_example(command):
    outcome = pliant_command(*command, "--help")
    assert outcome.exit_code == 0
    assert f"Usage: {' '.join(['pliant', *command])}" in outcome.stdout
    assert re.search(r"(Examples?|Start with):\s+pliant \w+", outcome.stdout)


def test_without_a_command_the_help_is_shown():
    assert pliant_command().stdout == pliant_command("--help").stdout


@pytest.mark.parametrize(
    "command", [["--help"], ["run", "--help"], ["eval", "--help"], ["--version"]]
)
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\n"
        f"sys.argv = ['pliant', *{command!r}]\n"
        "from pliant.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'jax', 'numpy', 'scipy', 'matplotlib', 'equinox', 'numpyro'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_version():
    assert pliant_command("--version").stdout == f"pliant {pliant.__version__}\n"


def test_help_states_the_defaults_that_the_method_has():
    text = " ".join(re.sub("[│\n]", " ", pliant_command("run", "--help").stdout).split())
    stated = dict(re.findall(r"(--[a-z-]+) (?:(?! --).)*?Default: (.*?)\.(?= |$)", text))
    usual = pliant.PLI()
    rounds = f"{usual.rounds}; with rejection-abc 100; with other -abc 200; with apt 10"
    assert stated["--rounds"] == rounds
    ten = SimpleNamespace(n_obs=10)
    n_params = (
        f"{usual.resolved(ten).n_params}; with -abc 1000; with a learned distance and apt 2000"
    )
    assert stated["--n-params"] == n_params
    apt, accurate = method_of("apt"), method_of("pli-accurate")
    assert (apt.rounds, apt.n_params, accurate.resolved(ten).n_params) == (10, 2000, 2000)
    for name in ABC:
        method = method_of(name)
        assert method.rounds == (100 if name == "rejection-abc" else 200)
        assert method.n_params == 1000
        assert method.resolved(SimpleNamespace(n_obs=10)).n_sims == 10
    assert stated["--epsilon"] == "1.0; with pli-paper 0.5"
    assert (usual.bandwidth.epsilon, pliant.PLI.paper(10).bandwidth.epsilon) == (1.0, 0.5)
    assert stated["--discrepancy"] == "mmd; with pli-accurate likelihood-kl"
    assert isinstance(accurate.discrepancy, pliant.LikelihoodKL)
    assert isinstance(usual.discrepancy, pliant.MMD)
    assert stated["--family"] == "spline-flow"
    assert isinstance(usual.family, pliant.SplineFlow)
    thousand = SimpleNamespace(n_obs=1000)
    n_sims = "the larger of N and 100; with a learned distance 20; with pli-paper and -abc N"
    assert stated["--n-sims"] == n_sims
    assert method_of(discrepancy="ratio-kl").resolved(ten).n_sims == 20
    assert (usual.resolved(ten).n_sims, usual.resolved(thousand).n_sims) == (100, 1000)
    assert pliant.PLI.paper(10).resolved(ten).n_sims == 10
    beta = "0.05 / N; with a learned distance 0.5 / N; with pli-paper 5e-4"
    assert stated["--beta"] == beta
    assert accurate.resolved(ten).beta == pytest.approx(0.5 / 10)
    assert usual.resolved(ten).beta == pytest.approx(0.05 / 10)
    assert pliant.PLI.paper(10).resolved(ten).beta == 5e-4


# ---- names -> objects ----


def method_of(method="pli", n_obs=10, **options):
    none = {"discrepancy": None, "family": None, "epsilon": None}
    return build_method(method, n_obs, **(none | options))


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_every_discrepancy_can_be_chosen(name):
    chosen = method_of(discrepancy=name).discrepancy
    assert type(chosen).__name__.lower() == name.replace("-", "")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_chosen(name):
    chosen = method_of(family=name).family
    assert type(chosen).__name__.lower() == name.replace("-", "")


def test_options_reach_the_method():
    method = method_of(epsilon=0.25, rounds=3, n_params=50, n_sims=7, beta=0.01)
    assert method.bandwidth == pliant.TrustRegion(epsilon=0.25, path="corrected")
    assert (method.rounds, method.n_params, method.n_sims, method.beta) == (3, 50, 7, 0.01)
    assert method_of() == pliant.PLI()
    assert method_of("pli-paper", rounds=3) == pliant.PLI.paper(10, rounds=3)
    assert method_of("pli-accurate", rounds=3) == pliant.PLI.accurate(rounds=3)
    assert method_of("apt", rounds=3) == pliant.APT(rounds=3)
    assert method_of("apt-paper") == pliant.APT.paper()
    assert set(METHODS) == {"pli", "pli-accurate", "pli-paper", *ABC, "apt", "apt-paper"}


@pytest.mark.parametrize(("name", "kind"), ABC.items())
def test_every_sampler_can_be_chosen(name, kind):
    method = method_of(name, rounds=50, n_params=60, n_sims=7, discrepancy="energy")
    assert type(method).__name__ == kind
    assert (method.rounds, method.n_params, method.n_sims) == (50, 60, 7)
    assert method.discrepancy == pliant.Energy()


def test_changed_options_are_written_as_python():
    method = pliant.PLI(rounds=3, family=pliant.GaussianMixture(components=2))
    assert changed_options(method) == {"rounds": 3, "family": "GaussianMixture(components=2)"}
    assert changed_options(pliant.PLI()) == {}


def test_command_line_quotes():
    given = {"n_obs": 3, "beta": 0.5}
    assert command_line("a b.py:p", given) == "pliant run 'a b.py:p' --n-obs 3 --beta 0.5"


# ---- mistakes ----


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["slpc"], ["no task 'slpc'", "Did you mean 'slcp'?", "gaussian_mixture"]),
        (["gaussian-location"], ["Did you mean 'gaussian_location'?"]),
        (["slcp", "--family", "flow"], ["--family: expected spline-flow, gaussian or", "'flow'"]),
        (["slcp", "--discrepancy", "mdm"], ["Did you mean 'mmd'?", "sliced-wasserstein"]),
        (
            ["slcp", "--method", "smc"],
            ["--method: expected pli, pli-accurate, pli-paper,", "Did you mean 'smc-abc'?"],
        ),
        (["slcp", "--method", "smc-abc", "--beta", "1"], ["--beta: smc-abc has no such option"]),
        (["slcp", "--beta", "wide"], ["--beta: expected a number or calibrated, got 'wide'"]),
        (
            ["slcp", "--beta", "calibrated", "--discrepancy", "wasserstein"],
            ["calibrated", "Wasserstein cannot", "MMD"],
        ),
        (
            ["slcp", "--method", "mh-abc", "--epsilon", "1"],
            ["--epsilon: mh-abc has no such option"],
        ),
        (
            ["slcp", "--method", "pmc-abc", "--family", "gaussian"],
            ["--family: pmc-abc has no such option; it is one of other methods."],
        ),
        (["slcp", "--n-params", "x"], ["--n-params", "integer"]),
        (["slcp", "--bets", "1"], ["--bets", "See pliant run --help."]),
        ([], ["TASK|FILE.py:NAME"]),
        (["slcp", "--n-obs", "0"], ["--n-obs: expected an integer of at least 1, got 0."]),
        (["slcp", "--seed", "-1"], ["--seed: expected an integer of at least 0, got -1."]),
        (["gaussian_location", "--n-params", "3"], ["--n-params: expected an integer of at least"]),
        (["gaussian_location", "--rounds", "0"], ["--rounds: expected an integer of at least 1"]),
        (["gaussian_location", "--beta", "-1"], ["--beta: expected", "above 0"]),
        (["gaussian_location", "--epsilon", "0"], ["--epsilon: expected"]),
        (["gaussian_location", "--max-seconds", "0"], ["--max-seconds: expected"]),
        (["gaussian_location", "--n-sims", "1"], ["--n-sims: MMD needs at least 2 draws"]),
        (["gone.py:problem"], ["gone.py: there is no such file."]),
        (["gone.py"], ["Write FILE.py:NAME."]),
        (["gone.py:"], ["Write FILE.py:NAME."]),
    ],
)
def test_mistakes_on_the_command_line(args, parts, tmp_path):
    outcome = pliant_command("run", *args)
    if outcome.stdout:  # a mistake that needs the problem comes after the line that names it
        outcome = SimpleNamespace(exit_code=outcome.exit_code, stdout="", stderr=outcome.stderr)
    assert_one_line_error(outcome, *parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("nothing", ["there is no 'nothing' in it", "problem, broken"]),
        ("problm", ["Did you mean 'problem'?"]),
        ("number", ["expected number to be a pliant.Problem", "got int"]),
        ("simulator", ["TypeError", "--traceback"]),
        ("fails", [", line 15: RuntimeError: no data (--traceback"]),
    ],
)
def test_mistakes_in_the_name_of_a_problem(model, name, parts):
    assert_one_line_error(pliant_command("run", f"{model}:{name}"), "my_model.py", *parts)


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("x = 1\nproblem = missing", ["bad.py, line 2: NameError: name 'missing' is not defined"]),
        ("problem = (", ["bad.py, line 1: SyntaxError: '(' was never closed"]),
        ("import sys\nsys.exit(3)", ["bad.py, line 2: SystemExit: 3"]),
        ("import no_such_module", ["bad.py, line 1: ModuleNotFoundError"]),
        ("import pliant\n\nproblem = pliant.Problem({}, 3, [1])", ["line 3: TypeError: prior:"]),
    ],
)
def test_mistakes_inside_a_file(tmp_path, code, parts):
    (tmp_path / "bad.py").write_text(code)
    assert_one_line_error(pliant_command("run", "bad.py:problem"), *parts)


def test_traceback_is_shown_on_request(tmp_path):
    (tmp_path / "bad.py").write_text("problem = missing")
    outcome = pliant_command("run", "bad.py:problem", "--traceback")
    assert isinstance(outcome.exception, NameError)


def test_n_obs_is_for_tasks_only(model):
    assert_one_line_error(pliant_command("run", f"{model}:problem", "--n-obs", 5), "--n-obs")


def test_a_folder_that_cannot_be_used_is_seen_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/deeper"):
        assert_one_line_error(pliant_command("run", "slcp", "--out", out), "is a file")


def test_mistakes_of_a_real_process_are_one_line():
    code = "from pliant.cli import main; main()"
    done = python(f"import sys; sys.argv = 'pliant run slcp --family x'.split(); {code}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


# ---- runs ----


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
        "--rounds 2 --n-params 200 --n-sims 20"
    )
    assert (config["target"], config["n_obs"], config["seed"]) == ("gaussian_location", 20, 3)
    assert config["given"]["family"] == "gaussian"
    assert "beta" not in config["given"]
    assert config["resolved"]["beta"] == pytest.approx(0.05 / 20)
    assert config["resolved"]["family"]["class"] == "Gaussian"
    expected = {"rounds": 2, "n_params": 200, "n_sims": 20, "family": "Gaussian()"}
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
        "PLI(rounds=2, n_params=200, n_sims=20, family=Gaussian())"
    )
    assert re.search(r"round +bandwidth +KL +ESS", outcome.stdout)
    history = json.loads((task_run.folder / "history.json").read_text())
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
    assert "max_simulations: Another round would exceed 5,024 simulations." in outcome.stdout
    assert len(pliant.load(folder).history) == 1
    assert not (folder / "metrics.json").exists()  # they were those of the result before


@pytest.mark.parametrize("name", ["rejection-abc", "mh-abc"])
def test_a_sampler_fills_its_folder(model, name):
    kind = ABC[name]
    options = ["--method", name, "--n-params", 50, "--rounds", 25, "--n-sims", 5]
    outcome = pliant_command("run", f"{model}:problem", *options, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    assert {path.name for path in Path("run").iterdir()} == set(CONTENTS) - NOT_THERE
    assert type(pliant.load("run").method).__name__ == kind
    shown = pliant_command("show", "run").stdout
    assert f"{kind}(rounds=25, n_params=50, n_sims=5)" in shown
    assert re.search(r"round +bandwidth +ESS +unique +accepted +min D", shown)


def test_show_a_result_that_python_saved(model, tmp_path):
    outcome = pliant_command("run", f"{model}:problem", *TINY, "--rounds", 1, "--out", "run")
    assert outcome.exit_code == 0, outcome.output
    pliant.load("run").save("saved")
    outcome = pliant_command("show", "saved")
    assert outcome.exit_code == 0, outcome.output
    method = "PLI(rounds=1, n_params=200, n_sims=20, family=Gaussian())"
    assert outcome.stdout.splitlines()[1] == f"seed 0, {method}"
    assert re.search(r"^mu +-?\d", outcome.stdout, re.MULTILINE)
    assert "pairs.png" not in outcome.stdout


def test_show_says_what_is_wrong_with_a_folder(task_run, tmp_path):
    assert_one_line_error(pliant_command("show", "nowhere"), "nowhere holds no run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "result.json").write_text("{}")
    assert_one_line_error(pliant_command("show", "run"), "history.json is missing")
    (tmp_path / "run" / "history.json").write_text("[")
    assert_one_line_error(pliant_command("show", "run"), "history.json: not a JSON file")


# ---- eval ----


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


def test_a_file_is_scored_from_anywhere_and_changes_are_said(model, tmp_path, monkeypatch):
    copy = tmp_path / "my_copy.py"
    copy.write_text(MODEL)
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
    assert "changed since the run" not in outcome.stdout

    copy.write_text(MODEL + "\n# a remark\n")
    outcome = pliant_command("eval", "../run", "--n-samples", 20)
    assert "my_copy.py:problem has changed since the run" in outcome.stdout
    copy.unlink()
    assert_one_line_error(pliant_command("eval", "../run"), "my_copy.py: there is no such file")


def test_eval_says_what_is_wrong_with_a_folder(task_run, tmp_path):
    assert_one_line_error(pliant_command("eval", "nowhere"), "nowhere holds no run")
    pliant.load(task_run.folder).save("saved")
    assert_one_line_error(pliant_command("eval", "saved"), "no config.json", "table.evaluate")
    (tmp_path / "saved" / "config.json").write_text("[]")
    assert_one_line_error(pliant_command("eval", "saved"), "config.json is damaged")
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


# ---- runs that end early ----


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
    assert "pliant resume run goes on" in outcome.stderr
    assert_one_line_error(pliant_command("show", "run"), "pliant resume run")
    again = pliant_command("run", f"{slow_model}:problem", *TINY, "--out", "run")
    assert_one_line_error(again, "not finished", "pliant resume run", "--overwrite")
    assert pliant_command("resume", "run").exit_code == 0


def test_resume_says_what_is_wrong_with_a_folder(task_run, tmp_path):
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


# ---- tasks ----


def test_tasks_are_listed_with_dimensions():
    outcome = pliant_command("tasks")
    assert outcome.exit_code == 0
    rows = {line.split()[0]: line for line in outcome.stdout.splitlines()[1:]}
    assert set(rows) == set(pliant.tasks.names())
    assert re.match(r"gaussian_location +10 +10 +exact ", rows["gaussian_location"])
    assert re.match(r"furuta +5 +100 x 6 +- ", rows["furuta"])
