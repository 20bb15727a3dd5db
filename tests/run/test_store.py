"""Runs that are cut off anywhere and resume from their folder."""

import dataclasses
import errno
import shutil
import subprocess
import sys
import warnings

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
import pliant.run.ledger
from pliant import _files as files
from pliant._files import InUseError
from pliant.run.store import RunStore
from pliant.weighting.schedules.base import AbstractSchedule

OBSERVED = np.asarray(2 + jax.random.normal(jax.random.key(0), (30, 2)))
PRIOR = {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)}
# All its rounds are too few for its target, so that complete runs end as cut short.
METHOD = pliant.PLI(
    rounds=4, n_particles=100, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
)


def simulator(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


def counted(calls, *, fail_at=None):
    """A NumPy simulator that counts its calls, and raises what a kill would look like."""

    def simulate(rng, theta):
        calls.append(1)
        if fail_at is not None and len(calls) == fail_at:
            raise KeyboardInterrupt
        if rng.random() < 0.03:
            raise ValueError("now and then")
        return theta["mu"] + theta["sigma"] * rng.normal(size=2)

    return pliant.Problem(PRIOR, pliant.PythonSimulator(simulate), OBSERVED)


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem(PRIOR, simulator, OBSERVED)


@pytest.fixture(scope="module")
def finished(problem, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "finished"
    return folder, pliant.infer(problem, METHOD, folder=folder)


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run, to be damaged."""
    return shutil.copytree(finished[0], tmp_path / "run")


def assert_same(a, b):
    np.testing.assert_array_equal(a.posterior.sample(50)["mu"], b.posterior.sample(50)["mu"])
    assert (a.status, a.message, a.failures) == (b.status, b.message, b.failures)
    timed = {"seconds", "busy"}
    for one, other in zip(a.history, b.history, strict=True):
        assert {n: v for n, v in one.items() if n not in timed} == {
            n: v for n, v in other.items() if n not in timed
        }


def cut(folder, last):
    """Leave the folder as it was after a round."""
    for path in folder.glob("rounds/*.npz"):
        if int(path.stem) > last:
            path.unlink()
    for name in ("result.json", "posterior.npz", "history.json"):
        (folder / name).unlink()


@pytest.mark.default_flags
def test_a_folder_changes_nothing_and_holds_the_result(problem, finished):
    folder, result = finished
    assert_same(pliant.infer(problem, METHOD), result)
    assert_same(pliant.load(folder), result)
    assert sorted(path.stem for path in folder.glob("rounds/*.npz")) == ["002", "003", "004"]


@pytest.mark.default_flags
def test_rounds_are_made_again_bit_for_bit(problem, finished, run):
    cut(run, 2)
    assert_same(pliant.resume(run, problem), finished[1])
    assert_same(pliant.resume(run, problem), finished[1])  # nothing is left to do
    cut(run, -1)  # not even the start was saved
    assert_same(pliant.resume(run, problem), finished[1])


@pytest.mark.parametrize("fail_at", [2, 999, 1700, 4000])
def test_a_run_goes_on_in_the_middle_of_a_round(fail_at, tmp_path, monkeypatch):
    monkeypatch.setattr(pliant.run.ledger, "_SECONDS", 0.0)
    whole, calls, more = [], [], []
    reference = pliant.infer(counted(whole), METHOD)
    assert len(whole) == 4000
    first = pliant.infer(counted(calls, fail_at=fail_at), METHOD, folder=tmp_path / "run")
    assert first.status == "interrupted"
    assert_same(pliant.resume(tmp_path / "run", counted(more)), reference)
    in_hand = 1000  # a piece of a function that takes no time is a round
    assert len(more) <= 4000 - fail_at + in_hand
    assert reference.failures[0].draws > 50


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "text"])
def test_a_damaged_round_is_named_and_the_one_before_used(damage, problem, finished, run):
    path = run / "rounds" / "004.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged = {
        "truncated": content[: len(content) // 2],
        "flipped": content,
        "empty": b"",
        "text": b"not a file of arrays",
    }[damage]
    path.write_bytes(damaged)
    (run / "result.json").unlink()
    with pytest.warns(UserWarning, match=r"004\.npz.*round 3"):
        assert_same(pliant.resume(run, problem), finished[1])


def test_damaged_draws_are_named_and_made_again(tmp_path):
    calls = []
    reference = pliant.infer(counted([]), METHOD, folder=tmp_path / "run")
    cut(tmp_path / "run", 3)
    (tmp_path / "run/simulations/004/00001.npz").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match=r"004/00001\.npz is damaged"):
        assert_same(pliant.resume(tmp_path / "run", counted(calls)), reference)
    assert len(calls) == 1000


def test_another_problem_or_a_damaged_plan_is_refused(problem, run):
    for change, part in (
        ({"observed": OBSERVED + 1}, "observed"),
        ({"prior": PRIOR | {"mu": dist.Normal(0, 4)}}, "prior"),
        ({"scale": None}, "scale"),
    ):
        given = {"prior": PRIOR, "simulator": simulator, "observed": OBSERVED, **change}
        with pytest.raises(ValueError, match=f"another {part}"):
            pliant.resume(run, pliant.Problem(**given))
    (run / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run\.json"):
        pliant.resume(run, problem)


def test_folders_that_hold_a_run_or_none_are_told_apart(problem, run, tmp_path):
    with pytest.raises(FileExistsError, match="resume"):
        pliant.infer(problem, METHOD, folder=run)
    shutil.copytree(run, tmp_path / "saved")
    (tmp_path / "saved" / "run.json").unlink()
    shutil.rmtree(tmp_path / "saved" / "rounds")
    with pytest.raises(FileExistsError, match="holds a result already"):
        pliant.infer(problem, METHOD, folder=tmp_path / "saved")
    assert (tmp_path / "saved" / "posterior.npz").exists()
    assert not (tmp_path / "saved" / "rounds").exists()  # no lock stays behind
    with pytest.raises(FileNotFoundError):
        pliant.resume(tmp_path / "nowhere", problem)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no run"):
        pliant.resume(tmp_path / "empty", problem)
    assert not list((tmp_path / "empty").iterdir())
    cut(run, 2)
    with pytest.raises(FileNotFoundError, match="not finished"):
        pliant.load(run)


def test_a_second_process_is_refused(problem, run):
    code = (
        "import fcntl, sys, time\n"
        f"file = open({str(run / 'rounds' / '.lock')!r}, 'a+'); fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(InUseError, match="in use by process"):
        pliant.resume(run, problem)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert pliant.resume(run, problem).status == "cut_short"


def test_a_larger_budget_goes_on(problem, finished, tmp_path):
    short = pliant.infer(problem, METHOD, folder=tmp_path / "run", max_simulations=2500)
    assert short.status == "out_of_simulations"
    assert "2,000 of 2,500 simulations" in short.message
    longer = pliant.resume(tmp_path / "run", problem, max_simulations=10_000)
    assert longer.status == "cut_short"
    np.testing.assert_array_equal(
        longer.posterior.sample(9)["mu"], finished[1].posterior.sample(9)["mu"]
    )


def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path, monkeypatch):
    """The second round's state cannot be written: the first one's posterior is returned."""
    calls, more = [], []
    write, written = files.write_arrays, []

    def full(path, arrays):
        written.append(path)
        if len(written) > 4:
            with files.storing(path):
                raise OSError(errno.ENOSPC, "No space left on device")
        write(path, arrays)

    for module in ("serialise", "ledger"):
        monkeypatch.setattr(f"pliant.run.{module}.write_arrays", full)
    with pytest.warns(pliant.PliantWarning, match="storage_failed"):
        result = pliant.infer(counted(calls), METHOD, folder=tmp_path / "run")
    assert result.status == "storage_failed"
    assert "No space left" in result.message
    monkeypatch.undo()
    assert_same(pliant.resume(tmp_path / "run", counted(more)), pliant.infer(counted([]), METHOD))
    assert len(calls) + len(more) <= 4000 + 1000


def test_a_full_disk_in_the_first_round_keeps_the_folder(problem, finished, tmp_path, monkeypatch):
    def full(path, arrays):
        with files.storing(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pliant.run.serialise.write_arrays", full)
        with pytest.warns(pliant.PliantWarning, match="storage_failed"):
            result = pliant.infer(problem, METHOD, folder=tmp_path / "run")
    assert result.status == "storage_failed"
    assert "pliant.resume" in result.message
    assert_same(pliant.resume(tmp_path / "run", problem), finished[1])


def test_what_a_killed_process_was_writing_is_removed(problem, run):
    left = run / "rounds" / ".005.npz.unfinished-1"
    left.write_bytes(b"half")
    pliant.resume(run, problem)
    assert not left.exists()


def test_a_round_of_another_round_is_refused(problem, finished, run):
    shutil.copy(run / "rounds/003.npz", run / "rounds/004.npz")
    with pytest.warns(UserWarning, match=r"004\.npz.*not the state of round 4.*round 3"):
        assert_same(pliant.resume(run, problem), finished[1])


class Own(AbstractSchedule):
    """A user's own schedule, which may hold what no file can."""

    inner: AbstractSchedule = pliant.TrustRegion()
    rule: object = None

    def step(self, particles, kernel, beta, last):
        return self.inner.step(particles, kernel, beta, last)


def test_a_users_class_is_resumed_when_it_is_passed(problem, tmp_path):
    method = dataclasses.replace(METHOD, schedule=Own())
    whole = pliant.infer(problem, method, folder=tmp_path / "run")
    cut(tmp_path / "run", 3)
    with pytest.raises(ValueError, match=r"'Own' is not a class of Pliant.*classes=\[Own\]"):
        pliant.resume(tmp_path / "run", problem)
    assert_same(pliant.resume(tmp_path / "run", problem, classes=[Own]), whole)
    assert_same(pliant.load(tmp_path / "run", classes=[Own]), whole)


def test_a_users_function_is_refused_before_the_first_simulation(tmp_path):
    calls = []
    method = dataclasses.replace(METHOD, schedule=Own(rule=lambda beta: beta / 2))
    with pytest.raises(TypeError, match=r"method\.schedule\.rule: .*cannot be written"):
        pliant.infer(counted(calls), method, folder=tmp_path / "run")
    assert not calls
    assert not (tmp_path / "run").exists()
    assert pliant.infer(counted(calls), method).status == "cut_short"  # without a folder it runs


def test_the_store_is_closed_when_a_run_raises(problem, tmp_path):
    def callback(row, posterior):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        pliant.infer(problem, METHOD, folder=tmp_path / "run", callback=callback)
    with RunStore(tmp_path / "run") as store, warnings.catch_warnings():
        warnings.simplefilter("error")
        last = store.last()
    assert last is not None
    assert len(last.rows) == 1


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(problem, tmp_path):
    for name in ("simulations/precious.csv", "rounds/001.npz", "config.json", "notes.txt"):
        path = tmp_path / name.replace("/", "-") / name
        path.parent.mkdir(parents=True)
        path.write_text("mine")
        before = contents(tmp_path)
        with pytest.raises(FileExistsError, match=r"expected a new folder.*Choose another"):
            pliant.infer(problem, METHOD, folder=tmp_path / name.replace("/", "-"))
        assert contents(tmp_path) == before


def test_a_run_without_draws_is_removed_from_a_folder_that_stays(tmp_path):
    def simulate(rng, theta):
        raise ArithmeticError("never")

    failing = pliant.Problem(PRIOR, pliant.PythonSimulator(simulate), OBSERVED)
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "mine", tmp_path / "new" / "run"):
        with pytest.warns(pliant.PliantWarning, match="failed"):
            assert pliant.infer(failing, METHOD, folder=folder).status == "failed"
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]
