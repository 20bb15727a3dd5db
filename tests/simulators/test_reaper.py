"""The reaper kills the groups and removes the folders of a writer that died, and no others."""

import os
import subprocess
import sys
import time

import pytest

from pliant.simulators import reaper


@pytest.fixture
def sleeper(tmp_path):
    """A process group that works in a folder of its own."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "output").write_text("1")
    process = subprocess.Popen(["sleep", "60"], cwd=folder, start_new_session=True)
    yield folder, process
    process.kill()
    process.wait()


def reap(lines):
    subprocess.run(
        [sys.executable, "-I", "-S", reaper.__file__],
        input=lines,
        text=True,
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize("known", [True, False])
def test_what_is_open_is_killed_and_removed(sleeper, known):
    folder, process = sleeper
    group = f"group\t{folder}\t{process.pid}\n" if known else ""
    reap(f"open\t{folder}\n{group}")
    assert process.wait(timeout=30) == -9
    assert not folder.exists()


def test_what_is_closed_is_left_alone(sleeper):
    folder, process = sleeper
    reap(f"open\t{folder}\ngroup\t{folder}\t{process.pid}\nclose\t{folder}\n")
    assert process.poll() is None
    assert (folder / "output").exists()


def test_processes_are_found_by_their_folder_and_by_their_mark(sleeper, tmp_path):
    folder, process = sleeper
    env = {**os.environ, reaper.MARK: f"/outer:{folder}"}
    marked = subprocess.Popen(["sleep", "60"], cwd="/", start_new_session=True, env=env)
    end = time.monotonic() + 20
    while reaper.processes_of(str(folder)) != {process.pid, marked.pid}:  # until it has executed
        assert time.monotonic() < end
    assert reaper.processes_of(str(tmp_path / "other")) == set()
    reaper.kill_all(str(folder))
    assert marked.wait(timeout=20) == process.wait(timeout=20) == -9
    reaper.kill_group(2**22 + 1)  # none: nothing happens
