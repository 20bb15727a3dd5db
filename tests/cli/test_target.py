"""What to infer: a task or a problem in a file, and mistakes in either."""

import hashlib
from pathlib import Path

import pytest

from pliant._files import cache_folder, write_json
from pliant.cli.errors import UserError
from pliant.cli.target import folder_name, has_changed, read_target, read_target_again
from pliant.run.folder import FORMAT
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


@pytest.mark.parametrize("change", ["edited", "removed", "edited below"])
def test_a_changed_neighbour_is_not_executed(tmp_path, change):
    folder = tmp_path / f"with_neighbours_{change.replace(' ', '_')}"
    name = folder.name
    (folder / f"{name}_package").mkdir(parents=True)
    (folder / f"{name}_package" / "__init__.py").write_text("mean = 0.0\n")
    (folder / f"{name}_helper.py").write_text(
        "def simulator(key, theta):\n    return theta['mu']\n"
    )
    (folder / "unused.py").write_text("x = 1\n")
    (folder / f"{name}.py").write_text(
        f"import numpyro.distributions as dist\nimport pliant\nimport {name}_package as package\n"
        f"from {name}_helper import simulator\n"
        "prior = {'mu': dist.Normal(package.mean, 1)}\n"
        "problem = pliant.Problem(prior, simulator, [0.5])\n"
    )
    first = read_target(f"{folder / name}.py:problem", None, 0)
    assert first.file is not None
    assert set(first.file["modules"]) == {f"{name}_package/__init__.py", f"{name}_helper.py"}
    config = {"target": first.text, "file": first.file, "n_obs": 1, "seed": 0}
    (folder / "unused.py").write_text("x = 2\n")
    assert not has_changed(read_target_again(config), config)

    below = "_package/__init__.py" if "below" in change else "_helper.py"
    spoiled = folder / f"{name}{below}"
    if change == "removed":
        spoiled.unlink()
    else:
        spoiled.write_text(f"raise RuntimeError('executed')\n# {spoiled.read_text()}")
    expected = rf"{spoiled.name}, a module that .* has changed .* --problem \S+{name}\.py:problem$"
    with pytest.raises(UserError, match=expected):
        read_target_again(config)
    fewer = {**config, "file": {k: v for k, v in first.file.items() if k != "modules"}}
    with pytest.raises(UserError, match="no run of yours recorded it"):
        read_target_again(fewer)
    if change != "removed":
        assert has_changed(read_target_again(config, f"{folder / name}.py:problem"), config)


def test_the_key_of_tests_is_not_that_of_the_user():
    assert "pytest" in str(cache_folder())


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


@pytest.mark.parametrize(
    ("field", "value"),
    [("target", 3), ("target", None), ("target", ["a.py:b"]), ("n_obs", "3"), ("seed", None)],
)
@pytest.mark.parametrize("command", ["resume", "eval"])
def test_a_forged_record_is_named(command, field, value, saved_run):
    config = {"target": "slcp", "n_obs": 2, "seed": 0, "file": None, "format": FORMAT}
    write_json(saved_run / "config.json", {**config, field: value})
    (saved_run / "run.json").write_text("{}")
    outcome = pliant_command(command, saved_run)
    assert_one_line_error(outcome, f"config.json: damaged, or not written by Pliant: '{field}'")
