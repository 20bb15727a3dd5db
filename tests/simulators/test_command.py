import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.simulators.external import SimulationError

K = 6
KEYS = jax.random.split(jax.random.key(0), K)
THETAS = {"mu": np.linspace(0.5, 3, K), "v": np.arange(2.0 * K).reshape(K, 2)}


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """A place of its own for scratch folders, which is empty after each test."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert not list(place.iterdir())


def draws(*command, event=(2,), n=2, thetas=THETAS, **options):
    simulator = pliant.CommandSimulator(list(command), event=event, **options)
    x, ok = simulator.simulate(KEYS, thetas, n)
    return np.asarray(x), np.asarray(ok)


def awk(program, **options):
    return draws("awk", "-v", "mu={mu}", "-v", "seed={seed}", f"BEGIN {{{program}}}", **options)


NOISE = 'srand(seed); printf "[%.17g, %.17g]", mu, rand()'


def test_numbers_reach_the_program_exactly_and_seeds_differ():
    x, ok = awk(NOISE)
    assert ok.all()
    np.testing.assert_array_equal(x[:, :, 0], np.repeat(THETAS["mu"][:, None], 2, axis=1))
    assert len(np.unique(x[:, :, 1])) == 2 * K
    np.testing.assert_array_equal(awk(NOISE, workers=2)[0], x)


@pytest.mark.parametrize("form", ["json", "csv", "npy"])
@pytest.mark.parametrize("place", ["stdout", "file"])
def test_formats(form, place, tmp_path):
    data = np.array([[1.5, -2.0, 3.25]])
    stored = tmp_path / f"data.{form}"
    if form == "json":
        stored.write_text(json.dumps(data.tolist()))
    elif form == "csv":
        np.savetxt(stored, data, delimiter=", ")
    else:
        np.save(stored, data)
    command = ["cat", stored] if place == "stdout" else ["cp", stored, f"out.{form}"]
    read = form if place == "stdout" else f"out.{form}"
    x, ok = draws(*command, read=read, event=(1, 3), n=1)
    assert ok.all()
    np.testing.assert_array_equal(x, np.broadcast_to(data, (K, 1, 1, 3)))


def test_parameters_are_in_a_file_and_a_function_can_read_the_output(tmp_path):
    def read(folder):
        given = json.loads((folder / "copy.json").read_text())
        assert isinstance(given["seed"], int)
        return [given["mu"], given["v"][1]]

    x, _ = draws("cp", "parameters.json", "copy.json", read=read, n=1)
    np.testing.assert_array_equal(x[:, 0], np.stack([THETAS["mu"], THETAS["v"][:, 1]], axis=1))
    joined, _ = draws("printf", "%s", "[{v}]", n=1)
    np.testing.assert_array_equal(joined[:, 0], THETAS["v"])


def test_a_parameter_called_seed_is_refused():
    prior = {"seed": dist.Normal(0, 1)}
    with pytest.raises(ValueError, match=r"prior\['seed'\].*another name"):
        pliant.Problem(prior, pliant.CommandSimulator(["echo", "[{seed}]"]), [[1.0]])


def test_failures_keep_the_tail_of_standard_error():
    _, ok = awk('if (mu > 2) { print "no root" > "/dev/stderr"; exit 3 } ' + NOISE)
    np.testing.assert_array_equal(ok, np.repeat(THETAS["mu"][:, None] <= 2, 2, axis=1))
    with pytest.raises(SimulationError, match=r"(?s)awk ended with code 3.*no root"):
        awk('print "no root" > "/dev/stderr"; exit 3', on_failure="raise")
    with pytest.raises(SimulationError, match="standard output could not be read"):
        awk('print "nothing"', on_failure="raise")
    with pytest.raises(SimulationError, match=r"expected the shape \(2,\), got \(3,\)"):
        awk('print "[1,2,3]"', on_failure="raise")


def test_a_timeout_ends_everything_that_the_program_started(tmp_path):
    hang = f'system("sleep 77 & echo $! >> {tmp_path}/pids; sleep 77")'
    start = time.monotonic()
    _, ok = awk(f"if (mu > 2.9) {hang}; {NOISE}", timeout=0.2, n=1, workers=2)
    assert time.monotonic() - start < 20
    np.testing.assert_array_equal(ok[:, 0], THETAS["mu"] <= 2.9)
    started = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert started
    _until(lambda: not any(map(_alive, started)))  # the kernel ends them in its own time


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_no_program_and_no_folder(end, scratch, tmp_path):
    """The reaper cleans up after a process that could not."""
    code = f"""
import signal, tempfile
import numpy as np
from pliant.simulators.process import CommandCall
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, in the background
tempfile.tempdir = {str(scratch)!r}
call = CommandCall(("/bin/sh", "-c", "echo $$ >> {tmp_path}/pids; sleep 77"), "json", None, ())
call(np.zeros(4, np.uint64), {{"mu": 1.0}})
"""
    source = str(Path(pliant.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        stderr=subprocess.DEVNULL,
    )
    _until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text())
    child.send_signal(end)
    child.wait()
    pid = int((tmp_path / "pids").read_text())
    _until(lambda: not _alive(pid) and not list(scratch.iterdir()))


def _until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.wrong_types
def test_names_and_programs_are_checked_before_anything_runs():
    problem = {"prior": {"mu": dist.Normal(0, 1)}, "observed": np.zeros((3, 2))}
    with pytest.raises(ValueError, match=r"command: \{beta\} is neither a parameter nor a"):
        pliant.Problem(simulator=pliant.CommandSimulator(["cat", "{beta}"]), **problem)
    with pytest.raises(ValueError, match="cannot find an executable program"):
        pliant.CommandSimulator(["./no-such-program"])
    for wrong in ("cat", [], [3], None):
        with pytest.raises(TypeError, match="command"):
            pliant.CommandSimulator(wrong)
    for wrong in ("xml", "/out.csv", 3):
        with pytest.raises(ValueError, match="read"):
            pliant.CommandSimulator(["cat"], read=wrong)


def test_paths_in_the_command_are_those_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text("[1, 2]")
    x, ok = draws("cat", "model.json", n=1)
    assert ok.all()
    assert x[0, 0].tolist() == [1, 2]
