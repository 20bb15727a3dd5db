"""A mistake is one line that says what was expected."""

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from pliant._files import InUseError, StorageError
from pliant.cli.errors import UserError, first_line, mistakes
from shell import TINY, assert_one_line_error, pliant_command, python, said

pytestmark = pytest.mark.wrong_types


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["slcp", "--family", "flow"], ["--family: expected spline-flow, gaussian or", "'flow'"]),
        (["slcp", "--discrepancy", "mdm"], ["Did you mean 'mmd'?", "sliced-wasserstein"]),
        (
            ["slcp", "--method", "smc"],
            ["--method: expected pli, pli-mmd, pli-wasserstein,", "Did you mean 'smc-abc'?"],
        ),
        (["slcp", "--method", "pli-accurate"], ["'pli-accurate' is now 'pli'."]),
        (["slcp", "--beta", "calibrated"], ["--beta: ", "a learned likelihood cannot", "MMD"]),
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
        (
            ["gaussian_location", "--method", "pli-mmd", "--n-draws", "1"],
            ["--n-draws: MMD needs at least 2 draws"],
        ),
    ],
)
def test_mistakes_on_the_command_line(args, parts, tmp_path):
    outcome = pliant_command("run", *args)
    if outcome.stdout:  # a mistake that needs the problem comes after the line that names it
        outcome = SimpleNamespace(exit_code=outcome.exit_code, stdout="", stderr=outcome.stderr)
    assert_one_line_error(outcome, *parts)
    assert list(tmp_path.iterdir()) == []


def test_traceback_is_shown_on_request(tmp_path):
    (tmp_path / "bad.py").write_text("problem = missing")
    outcome = pliant_command("run", "bad.py:problem", "--traceback")
    assert isinstance(outcome.exception, NameError)


def test_mistakes_of_a_real_process_are_one_line():
    code = "from pliant.cli import main; main()"
    done = python(f"import sys; sys.argv = 'pliant run slcp --family x'.split(); {code}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n_obs: expected 1.\nMore of it.", "--n-obs: expected 1."),
        ("max_seconds: no", "--max-seconds: no"),
        ("the seed: no", "the seed: no"),
        ("\n  after an empty line  \n", "after an empty line"),
        ("", "ValueError"),
    ],
)
def test_the_first_line_names_the_option_of_an_argument(text, shown):
    assert first_line(ValueError(text)) == shown


def test_wrong_values_are_mistakes_and_other_errors_are_not():
    with pytest.raises(UserError, match=r"^--seed: no$") as caught, mistakes():
        raise ValueError("seed: no")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ZeroDivisionError), mistakes():
        raise ZeroDivisionError


def test_with_traceback_the_cause_of_a_mistake_is_raised():
    with pytest.raises(ValueError, match=r"^seed: no$"), mistakes(traceback=True):
        raise ValueError("seed: no")
    with pytest.raises(NameError, match="x"), mistakes(traceback=True):
        raise UserError("in the file") from NameError("x")
    with pytest.raises(UserError, match="of its own"), mistakes(traceback=True):
        raise UserError("of its own")


# ---- files and disks ----

FULL = OSError(errno.ENOSPC, "No space left on device")
READ_ONLY = OSError(errno.EROFS, "Read-only file system", "run/samples.npz")


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (FULL, "No space left on device.", 1),
        (READ_ONLY, "run/samples.npz: Read-only file system.", 1),
        (OSError(errno.EIO, "Input/output error", b"run/a"), "run/a: Input/output error.", 1),
        (PermissionError(errno.EACCES, "Permission denied", "run"), "run: Permission denied.", 1),
        (StorageError("run could not be written: full."), "run could not be written: full.", 1),
        (OSError(), "OSError", 1),
        (FileNotFoundError("run: no such folder."), "run: no such folder.", 2),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"), "a/b: Not a directory.", 2),
        (InUseError("run is in use."), "run is in use.", 2),
    ],
)
def test_files_and_disks_that_fail_are_one_line(error, text, code):
    with pytest.raises(UserError) as caught, mistakes():
        raise error
    assert (str(caught.value), caught.value.code) == (text, code)
    with pytest.raises(type(error)), mistakes(traceback=True):
        raise error


def test_a_closed_pipe_is_left_to_the_command_line():
    with pytest.raises(BrokenPipeError), mistakes():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


COMMANDS = [
    *(["show"], ["eval"], ["resume"]),
    *(["bench", "status"], ["bench", "collect"], ["bench", "figures"]),
    *(["bench", "run", "smoke", "--out"], ["run", "gaussian_location", *TINY, "--out"]),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize("path", ["a_file", "a_file/below", "n" * 300, "a_link"])
def test_paths_that_are_no_folders_are_one_line(command, path, tmp_path):
    (tmp_path / "a_file").write_text("")
    (tmp_path / "a_link").symlink_to("a_link")
    assert_fails(pliant_command(*command, path))


@pytest.mark.parametrize("command", ["show", "eval", "resume"])
@pytest.mark.parametrize("name", ["result.json", "run.json", "config.json", "history.json"])
def test_files_that_cannot_be_read_are_one_line(command, name, saved_run, monkeypatch):
    open_file = Path.open

    def denied(self, *args, **options):
        if self.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return open_file(self, *args, **options)

    (saved_run / "run.json").write_text("{}")
    monkeypatch.setattr(Path, "open", denied)
    outcome = pliant_command(command, saved_run)
    assert (outcome.exit_code == 0) == ((command, name) == ("show", "run.json"))
    if outcome.exit_code:
        assert_fails(outcome)


@pytest.mark.parametrize("call", ["mkdir", "open", "replace", "unlink", "rmdir"])
def test_a_full_or_read_only_disk_ends_a_run_in_one_line(call, model, tmp_path, monkeypatch):
    def fails(self, *args, **options):
        if tmp_path in (tmp_path / self).parents:
            raise READ_ONLY
        return real(self, *args, **options)

    real = getattr(Path, call)
    monkeypatch.setattr(Path, call, fails)
    broken = pliant_command("run", f"{model}:broken", *TINY, "--out", "run/new")
    assert broken.exit_code == 1
    assert_one_line(broken)


def assert_fails(outcome):
    assert outcome.exit_code in (1, 2), outcome.output
    assert_one_line(outcome)


def assert_one_line(outcome):
    assert isinstance(outcome.exception, SystemExit), outcome.exception
    assert len(said(outcome)) == 1, outcome.stderr
