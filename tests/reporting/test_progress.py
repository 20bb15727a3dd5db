"""A run that goes on is read from outside, whatever half of its files is there."""

import os
import shutil
import socket

import numpy as np
import pytest

import pliant
from pliant.reporting.content import content_of
from pliant.reporting.progress import goes_on, is_alive, newest_round, read_running, read_subject
from pliant.reporting.subject import Known
from report_runs import method, problems

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that was killed after two rounds: there is no result."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    problem = problems()["cut_short"]
    pliant.infer(problem, method(rounds=2), seed=3, folder=folder, progress=False)
    for name in ("result.json", "posterior.npz", "history.json"):
        (folder / name).unlink()
    return folder


@pytest.fixture
def folder(begun, tmp_path):
    return shutil.copytree(begun, tmp_path / "run")


KNOWN = Known(problems()["cut_short"])


def test_the_posterior_is_that_of_the_last_round(folder):
    subject = read_subject(folder, KNOWN)
    assert subject.status is None
    assert [row["round"] for row in subject.history] == [1, 2]
    assert subject.seed == 3
    expected = pliant.resume(folder, KNOWN.problem, progress=False).posterior.sample(10_000, seed=3)
    for name, values in expected.items():
        np.testing.assert_array_equal(subject.samples[name], values)


def test_without_its_problem_a_run_shows_its_rounds(folder):
    subject = read_running(folder, Known())
    assert subject.posterior is None
    assert len(subject.history) == 2
    content = content_of(subject)
    assert content["posterior"] is None
    assert content["run"]["most_rounds"] == 2


def test_a_damaged_round_counts_as_absent(folder):
    (folder / "rounds" / "002.npz").write_bytes(b"half")
    assert len(read_running(folder, KNOWN).history) == 1
    for path in (folder / "rounds").glob("*.npz"):
        path.unlink()
    assert len(read_running(folder, KNOWN).history) == 0
    (folder / "run.json").write_text("{")
    subject = read_running(folder, KNOWN)
    assert subject.method is None
    (folder / "run.json").unlink()
    assert read_subject(folder, KNOWN) is None


def test_a_state_of_another_problem_shows_no_posterior(folder):
    assert read_running(folder, Known(problems()["conditions"])).posterior is None


def test_a_resumed_run_goes_on_although_there_is_a_result(folder, runs):
    for name in ("result.json", "posterior.npz", "history.json"):
        shutil.copy(runs["failed"].folder / name, folder / name)
    assert newest_round(folder) == 2
    assert not goes_on(folder)  # its result has as many rounds
    shutil.copy(folder / "rounds" / "002.npz", folder / "rounds" / "003.npz")
    assert goes_on(folder)
    (folder / "rounds" / "003.npz").unlink()
    assert str(read_subject(folder, Known()).status) == "failed"


@pytest.mark.parametrize(
    ("owner", "alive"),
    [
        (f"process {os.getpid()} on {socket.gethostname()}", True),
        (f"process 999999999 on {socket.gethostname()}", False),
        ("process 1 on another machine", True),
        ("", True),
    ],
    ids=["own", "gone", "elsewhere", "unknown"],
)
def test_the_lock_says_whether_a_process_is_at_work(folder, owner, alive):
    (folder / "rounds" / ".lock").write_text(owner)
    assert is_alive(folder) == alive
    message = read_running(folder, KNOWN).message
    assert ("2 rounds of 2 done." in message) == alive
    assert ("pliant resume" in message) == (not alive)


def test_without_a_lock_nobody_is_at_work(tmp_path):
    assert not is_alive(tmp_path)
