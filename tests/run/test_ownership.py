"""Folders and files that are a run's own, and those that are not; no run is made."""

import pytest

from pliant._files import write_arrays, write_json
from pliant.run import folder as layout
from pliant.run.ownership import (
    check_own,
    is_own,
    remove_checkpoints,
    remove_evaluations,
    remove_lock,
    remove_run,
    remove_snapshots,
)


@pytest.fixture
def run(tmp_path):
    """All files of a run, with a user's files beside them."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in layout.CONTENTS:
        if name.endswith(".json"):
            write_json(folder / name, {"format": layout.FORMAT})
        elif name == layout.REPORT:
            (folder / name).write_text('<html data-made-by="pliant-report">')
        elif "." in name:
            (folder / name).touch()
    ledger = layout.ledger_folder(folder, 1)
    for path in (layout.round_file(folder, 1), layout.ledger_file(ledger, 1)):
        path.parent.mkdir(parents=True)
        write_arrays(path, {"x": [1.0]})
    (folder / layout.ROUNDS / layout.LOCK).touch()
    return folder


MINE = (
    "notes.txt",
    "rounds/notes.txt",
    "rounds/1.npz",
    "rounds/deep/001.npz",
    "simulations/precious.csv",
    "simulations/001/precious.npz",
    "simulations/1/00001.npz",
    "snapshots/final.npz",
)


def add(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_only_what_a_run_wrote_is_removed(run):
    check_own(run)
    add(run, MINE)
    check_own(run)
    remove_run(run)
    assert files(run) == {*MINE, "rounds/.lock"}
    remove_lock(run)
    assert files(run) == set(MINE)


def test_nothing_is_left_of_a_run_alone(run):
    remove_run(run)
    remove_lock(run)
    assert not list(run.iterdir())
    remove_run(run / "absent")
    remove_lock(run / "absent")


def test_checkpoints_and_snapshots_are_removed_by_their_names(run):
    write_json(run / layout.SETTINGS, {"run": {}})
    add(run, ["snapshots/001.npz", "snapshots/final.npz"])
    remove_checkpoints(run)
    remove_snapshots(run)
    assert not (run / layout.ROUNDS).exists()
    assert not (run / layout.RUN).exists()
    assert files(run / "snapshots") == {"final.npz"}
    assert is_own(run / layout.RESULT)


@pytest.mark.parametrize("name", ["config.json", "metrics.json", "run.json"])
def test_a_users_file_in_place_of_a_runs_own_is_refused_and_kept(run, name):
    (run / name).write_text('{"mine": 1}')
    with pytest.raises(FileExistsError, match=f"{name} in it is not a file of Pliant"):
        check_own(run)
    remove_run(run)
    assert files(run) == {name, "rounds/.lock"}


@pytest.mark.parametrize("name", ["samples.npz", "rounds/001.npz", "pairs.png"])
def test_beside_a_saved_result_only_its_three_files_are_pliants(tmp_path, name):
    write_json(tmp_path / layout.RESULT, {"format": layout.FORMAT})
    add(tmp_path, ["posterior.npz", "notes.txt"])
    check_own(tmp_path)
    add(tmp_path, [name])
    with pytest.raises(FileExistsError, match="is not a file of Pliant"):
        check_own(tmp_path)


@pytest.mark.parametrize("name", [*MINE, "config.json", "run.json", "result.json", "metrics.json"])
def test_a_name_alone_makes_no_run(tmp_path, name):
    add(tmp_path, [name])
    with pytest.raises(FileExistsError, match=rf"holds {name.split('/')[0]}, and no run"):
        check_own(tmp_path)


def test_new_and_empty_folders_may_be_used(tmp_path):
    check_own(tmp_path / "new")
    check_own(tmp_path)
    add(tmp_path, ["rounds/.lock", ".lock", ".config.json.unfinished-12ab"])
    write_json(tmp_path / layout.ERROR, {"error": "of a benchmark"})
    check_own(tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        check_own(tmp_path / ".lock")


SYSTEM = (".DS_Store", "Thumbs.db", "desktop.ini", ".nfs000000000a1b2c3d00000001")


def test_files_of_the_system_do_not_count_and_are_not_removed(tmp_path):
    add(tmp_path, [*SYSTEM, *(f"rounds/{name}" for name in SYSTEM)])
    before = files(tmp_path)
    check_own(tmp_path)
    remove_run(tmp_path)
    remove_lock(tmp_path)
    assert files(tmp_path) == before
    (tmp_path / "rounds" / "rounds").mkdir()
    with pytest.raises(FileExistsError, match="it holds rounds, and no run"):
        check_own(tmp_path)


def test_a_long_list_is_cut(tmp_path):
    add(tmp_path, ["a", "b", "c", "d", "e"])
    with pytest.raises(FileExistsError, match="it holds a, b, c and 2 more, and no run"):
        check_own(tmp_path)


def test_runs_on_simulated_sets_go_with_their_run(run):
    rerun = layout.rerun_folder(run, 0) / "003"
    layout.round_file(rerun, 1).parent.mkdir(parents=True)
    write_json(rerun / layout.RUN, {"format": layout.FORMAT})
    write_arrays(layout.round_file(rerun, 1), {"x": [1.0]})
    kept = [run / layout.RERUNS / name for name in ("0/mine/run.json", "0/004/notes.txt")]
    for path in kept:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    remove_run(run)
    assert not rerun.exists()
    assert all(path.exists() for path in kept)


@pytest.mark.parametrize("mine", [True, False])
def test_a_page_is_removed_with_what_it_shows_unless_it_is_a_users(run, mine):
    path = run / layout.REPORT
    if mine:
        path.write_text("<html>mine</html>")
    remove_evaluations(run)
    assert path.exists() == mine
    if mine:
        with pytest.raises(FileExistsError, match=r"report\.html in it is not a file of Pliant"):
            check_own(run)


def test_a_page_alone_is_in_nobodys_way(tmp_path):
    path = tmp_path / layout.REPORT
    path.write_text('<html data-made-by="pliant-report">')
    check_own(tmp_path)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        check_own(tmp_path)
