"""Pages that change with the files of their runs."""

import os
import shutil
import socket

import pytest

from pliant.reporting.live import LiveRun, told_of
from pliant.reporting.progress import read_running
from pliant.reporting.subject import Known

pytestmark = pytest.mark.training


def test_a_page_changes_with_its_files(runs, tmp_path):
    run, asked = runs["conditions"], []

    def known(ended):
        asked.append(ended)
        return Known(run.problem)

    folder = tmp_path / "run"
    live = LiveRun(folder, known)
    first = live.shown()
    assert "Nothing has been written yet." in first.page
    shutil.copytree(run.folder, folder)
    diagnosis = (folder / "diagnosis.json").read_bytes()
    (folder / "diagnosis.json").unlink()
    second = live.shown()
    assert second.state["version"] != first.state["version"]
    assert second.state["told"] == "The run has ended. There is no diagnosis yet."
    assert live.shown() is second
    (folder / "diagnosis.json").write_bytes(diagnosis)
    third = live.shown()
    assert third.state["told"] == ""
    assert 'id="verdict-badge"' in third.state["sections"]["verdict"]
    assert asked == [False, True]
    shutil.rmtree(folder)
    assert live.shown() is third  # a folder that is being replaced


def test_a_run_whose_process_or_folder_is_gone_is_not_running(runs, tmp_path):
    """A run that ends without a posterior removes its folder."""
    folder = shutil.copytree(runs["conditions"].folder, tmp_path / "run")
    (folder / "result.json").unlink()
    lock = folder / "rounds" / ".lock"
    lock.write_text(f"process {os.getpid()} on {socket.gethostname()}")
    live = LiveRun(folder, lambda ended: Known(runs["conditions"].problem))
    assert live.shown().state["told"] == "Running: 3 rounds of 3 done."
    lock.unlink()
    assert live.shown().state["told"].startswith("Not finished: No process works on it.")
    shutil.rmtree(folder)
    last = live.shown()
    assert last.state["told"].startswith("Not finished: The folder of the run is gone.")
    assert 'id="history-table"' in last.state["sections"]["history"]
    assert live.shown() is last


def test_the_head_tells_how_far_a_run_is(tmp_path):
    assert told_of(read_running(tmp_path, Known())).startswith("Not finished: ")
