"""What to infer: a task or a problem in a file, and mistakes in either."""

import hashlib
from pathlib import Path

import pytest

from pliant.cli.errors import UserError
from pliant.cli.target import folder_name, has_changed, read_target, read_target_again
from shell import assert_one_line_error, pliant_command

pytestmark = pytest.mark.wrong_types


def digest(file):
    return hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("slpc", ["no task 'slpc'", "Did you mean 'slcp'?", "gaussian_mixture"]),
        ("gaussian-location", ["Did you mean 'gaussian_location'?"]),
        ("gone.py:problem", ["gone.py: there is no such file."]),
        ("gone.py", ["Write FILE.py:NAME."]),
        ("gone.py:", ["Write FILE.py:NAME."]),
    ],
)
def test_a_target_that_does_not_exist(target, parts, tmp_path):
    assert_one_line_error(pliant_command("run", target), *parts)
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


def test_n_obs_is_for_tasks_only(model):
    assert_one_line_error(pliant_command("run", f"{model}:problem", "--n-obs", 5), "--n-obs")


@pytest.mark.parametrize(
    ("target", "name"),
    [("slcp", "slcp-3"), ("models/my_model.py:problem", "my_model-problem-3")],
)
def test_the_default_folder_is_named_after_the_target(target, name):
    assert folder_name(target, 3) == name


def test_a_file_is_found_again_from_anywhere_and_its_changes_are_seen(model, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(model.parent)  # for its neighbour
    copy = tmp_path / "my_other_copy.py"
    copy.write_text(model.read_text())
    first = read_target("my_other_copy.py:make", None, 0)
    config = {"target": first.text, "file": first.file, "n_obs": 5, "seed": 0}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = read_target_again(config)
    assert again.file == first.file
    assert not has_changed(again, config)
    copy.write_text(model.read_text() + "\n# a remark\n")
    with pytest.raises(UserError, match=r"has changed since .* --problem \S+copy\.py:make$"):
        read_target_again(config)
    assert has_changed(read_target_again(config, f"{copy}:make"), config)


MARKS = "import pathlib\npathlib.Path({!r}).touch()\nproblem = 3\n"


@pytest.mark.parametrize(
    "forge",
    [
        pytest.param(lambda file: file, id="another digest"),
        pytest.param(lambda file: file | {"sha256": digest(file)}, id="its digest"),
        pytest.param(lambda file: file | {"signature": ""}, id="no signature"),
        pytest.param(lambda file: {k: v for k, v in file.items() if k != "signature"}, id="old"),
    ],
)
def test_a_forged_record_executes_nothing(model, tmp_path, forge):
    mark, evil = tmp_path / "mark", tmp_path / "evil.py"
    evil.write_text(MARKS.format(str(mark)))
    own = read_target(f"{model}:problem", None, 0).file
    file = forge(own | {"path": str(evil)})
    config = {"target": "my_model.py:problem", "file": file, "n_obs": 5, "seed": 0}
    with pytest.raises(UserError, match=r"evil\.py is not executed"):
        read_target_again(config)
    assert not mark.exists()
    with pytest.raises(UserError, match="got int"):
        read_target_again(config, f"{evil}:problem")
    assert mark.exists()  # the marker works, and the user asked for it


def test_another_name_in_a_signed_file_is_not_called(model):
    file = read_target(f"{model}:problem", None, 0).file
    config = {"target": "my_model.py:fails", "file": file, "n_obs": 5, "seed": 0}
    with pytest.raises(UserError, match="is not executed"):
        read_target_again(config)


@pytest.mark.parametrize(
    ("config", "problem", "text"),
    [
        ({"target": "slcp"}, "a.py:problem", "--problem: the run is one of the task slcp"),
        ({"target": "a.py:problem"}, "slcp", "--problem: expected FILE.py:NAME, got 'slcp'"),
        ({"target": "a.py:problem"}, "a.py", "Write FILE.py:NAME"),
        ({"target": "a.py:problem", "file": None}, None, "it names no file"),
    ],
)
def test_mistakes_in_the_problem_of_a_recorded_run(config, problem, text):
    with pytest.raises(UserError, match=text):
        read_target_again({"n_obs": 5, "seed": 0, **config}, problem)


def test_what_was_read_is_executed_not_a_cache(tmp_path):
    (tmp_path / "cached.py").write_text("problem = 3\n")
    read = _read_mistake(tmp_path / "cached.py")
    (tmp_path / "cached.py").write_text("problem = '3'\n")
    assert (read, _read_mistake(tmp_path / "cached.py")) == ("int.", "str.")
    assert not (tmp_path / "__pycache__").exists()


def _read_mistake(path):
    with pytest.raises(UserError, match="got") as caught:
        read_target(f"{path}:problem", None, 0)
    return str(caught.value).split()[-1]
