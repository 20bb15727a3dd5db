"""The folder of a run, before there is one; ``test_run.py`` has what a run writes."""

import json
import os

import pytest

import pliant
from pliant._files import lock, write_json
from pliant.cli.run_folder import changed_options, command_line
from pliant.run.folder import FORMAT
from shell import TINY, assert_one_line_error, pliant_command


def test_a_result_is_not_overwritten(saved_run):
    before = (saved_run / "result.json").read_bytes()
    outcome = pliant_command("run", "gaussian_location", *TINY, "--out", saved_run)
    assert_one_line_error(outcome, str(saved_run), "holds a result already", "--overwrite")
    assert (saved_run / "result.json").read_bytes() == before


def test_a_folder_that_cannot_be_used_is_seen_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/deeper"):
        assert_one_line_error(pliant_command("run", "slcp", "--out", out), "is a file")


def test_changed_options_are_written_as_python():
    method = pliant.PLI(rounds=3, family=pliant.GaussianMixture(components=2))
    assert changed_options(method) == {"rounds": 3, "family": "GaussianMixture(components=2)"}
    assert changed_options(pliant.PLI()) == {}


def test_command_line_quotes():
    given = {"n_obs": 3, "beta": 0.5}
    assert command_line("a b.py:p", given) == "pliant run 'a b.py:p' --n-obs 3 --beta 0.5"


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
@pytest.mark.parametrize("name", ["simulations/precious.csv", "metrics.json", "config.json"])
def test_a_folder_with_other_files_is_refused(tmp_path, name, more):
    path = tmp_path / "p" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    outcome = pliant_command("run", "gaussian_location", *TINY, "--out", "p", *more)
    assert_one_line_error(outcome, "p: expected a new folder", name.split("/")[0], "Choose another")
    assert [path.read_text()] == [p.read_text() for p in tmp_path.rglob("*") if p.is_file()]


def test_a_live_run_is_not_overwritten(saved_run):
    write_json(saved_run / "run.json", {"format": FORMAT})
    command = ["run", "gaussian_location", *TINY, "--out", saved_run, "--overwrite"]
    (saved_run / "rounds").mkdir()
    with lock(saved_run / "rounds" / ".lock", saved_run):
        before = {path: path.read_bytes() for path in saved_run.rglob("*") if path.is_file()}
        outcome = pliant_command(*command)
        assert outcome.exit_code == 2, outcome.output
        assert f"{saved_run} is in use by process {os.getpid()}" in outcome.stderr
        assert "Wait for it, or choose another folder." in outcome.stderr
        after = {path: path.read_bytes() for path in saved_run.rglob("*") if path.is_file()}
        assert after == before
    outcome = pliant_command(*command)
    assert outcome.exit_code == 0, outcome.output
    assert json.loads((saved_run / "config.json").read_text())["target"] == "gaussian_location"
