"""One run of a grid: it never raises, and is resumed if all is there."""

import json

import pytest

from pliant._files import lock, write_json
from pliant.bench.perform import perform
from pliant.cli.grid import parse_grid
from pliant.run.folder import ERROR, LOCK, METRICS, RUN, round_file, snapshot_file

GRID = """
[methods.PLI]
method = "pli-mmd"
[methods.PMC]
method = "pmc-abc"

[[experiment]]
name = "kept"
tasks = "gaussian_location"
n_obs = 1
seeds = 0
methods = ["PLI", "PMC"]
snapshots = 10
"""
PLI, PMC = parse_grid(GRID, "grid.toml").runs


def test_an_error_is_recorded_with_its_traceback(tmp_path):
    outcome = perform(PMC, tmp_path / "run")
    assert (outcome.name, outcome.failed) == (PMC.name, True)
    assert outcome.text.startswith("ValueError: n_draws: MMD needs at least 2 draws")
    error = json.loads((tmp_path / "run" / ERROR).read_text())
    assert error["error"] == outcome.text
    assert error["traceback"].startswith("Traceback")


def test_a_finished_run_stays_as_it_is(tmp_path):
    (tmp_path / METRICS).write_text("as before")
    outcome = perform(PLI, tmp_path)
    assert (outcome.text, outcome.failed) == ("finished before", False)
    assert {path.name for path in tmp_path.iterdir()} == {METRICS, LOCK}
    assert (tmp_path / METRICS).read_text() == "as before"


def test_a_run_that_another_process_holds_fails_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.bench.perform._PATIENCE", 0.0)
    with lock(tmp_path / LOCK, tmp_path):
        outcome = perform(PLI, tmp_path)
    assert outcome.failed
    assert outcome.text.startswith("InUseError: ")


@pytest.mark.parametrize(("kept", "called"), [([1, 2], "resume"), ([1], "infer"), ([], "infer")])
def test_a_run_is_resumed_only_if_it_has_all_snapshots(kept, called, tmp_path, monkeypatch):
    for name in ("infer", "resume"):
        monkeypatch.setattr(f"pliant.bench.perform.{name}", raising(name))
    files = [round_file(tmp_path, index) for index in (0, 1, 2)]
    files += [snapshot_file(tmp_path, index) for index in kept]
    for name in (RUN, ERROR):
        write_json(tmp_path / name, {"of": "a run"})
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert perform(PLI, tmp_path).text == f"RuntimeError: {called}"
    assert all(path.exists() == (called == "resume") for path in files)


def test_a_users_folder_is_refused_and_its_files_stay(tmp_path):
    for name in ("precious.csv", "snapshots/001.npz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    for _ in range(2):  # what the first refusal writes makes it no run's folder
        assert "expected a new folder" in perform(PLI, tmp_path).text
    assert {path.name for path in tmp_path.iterdir()} == {LOCK, ERROR, "precious.csv", "snapshots"}
    assert (tmp_path / "snapshots/001.npz").read_text() == "mine"


def raising(name):
    def called(*args, **options):
        raise RuntimeError(name)

    return called
