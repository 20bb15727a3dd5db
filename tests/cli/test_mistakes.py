"""A mistake is one line that says what was expected."""

from types import SimpleNamespace

import pytest

from shell import assert_one_line_error, pliant_command, python

pytestmark = pytest.mark.wrong_types


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
            ["--family: pmc-abc has no such option; other methods do."],
        ),
        (["slcp", "--n-particles", "x"], ["--n-particles", "integer"]),
        (["slcp", "--bets", "1"], ["--bets", "See pliant run --help."]),
        ([], ["TASK|FILE.py:NAME"]),
        (["slcp", "--n-obs", "0"], ["--n-obs: expected an integer of at least 1, got 0."]),
        (["slcp", "--seed", "-1"], ["--seed: expected an integer of at least 0, got -1."]),
        (
            ["gaussian_location", "--n-particles", "3"],
            ["--n-particles: expected an integer of at least"],
        ),
        (["gaussian_location", "--rounds", "0"], ["--rounds: expected an integer of at least 1"]),
        (["gaussian_location", "--beta", "-1"], ["--beta: expected", "above 0"]),
        (["gaussian_location", "--epsilon", "0"], ["--epsilon: expected"]),
        (["gaussian_location", "--max-seconds", "0"], ["--max-seconds: expected"]),
        (["gaussian_location", "--n-draws", "1"], ["--n-draws: MMD needs at least 2 draws"]),
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
