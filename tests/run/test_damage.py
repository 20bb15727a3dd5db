"""One flipped byte anywhere in a run's files: the same result, a named file, or a recovery."""

import random
import shutil
import warnings

import numpy as np
import pytest

import format_runs
import pliant
from pliant._files import read_arrays, read_json, write_arrays
from pliant.run.folder import FORMAT
from pliant.run.serialise import encode
from pliant.run.store import RunStore

RUNS = format_runs.FIXTURES / f"format{FORMAT}"
FLIPS = 2000


def content(path):
    """What a file holds, in a form that can be compared."""
    if path.suffix == ".json":
        return read_json(path)
    return {
        n: (a.dtype.str, a.shape, a.flags.f_contiguous, a.tobytes())
        for n, a in read_arrays(path).items()
    }


def attempt(function, *args):
    """What a function returns, and the message of its ``ValueError``; other errors are raised."""
    try:
        return function(*args), None
    except ValueError as error:
        return None, str(error)


def flipped(rng, path):
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= rng.choice([1 << rng.randrange(8), 0xFF])
    return bytes(data)


def test_a_flipped_byte_changes_nothing_or_is_named(tmp_path):
    rng, outcomes = random.Random(0), {"same": 0, "named": 0}
    paths = sorted(path for path in (RUNS / "finished").rglob("*.*") if path.is_file())
    expected = {path: content(path) for path in paths}
    weights = [path.stat().st_size for path in paths]
    for path in rng.choices(paths, weights, k=FLIPS):
        copy = tmp_path / path.name
        copy.write_bytes(flipped(rng, path))
        read, message = attempt(content, copy)
        outcomes["same" if message is None else "named"] += 1
        if message is None:
            assert read == expected[path], path
        else:
            assert str(copy) in message
            assert "\n" not in message
    assert sum(outcomes.values()) == FLIPS
    assert outcomes["named"] > 0.8 * FLIPS


def test_every_byte_of_a_small_file(tmp_path):
    """Every byte of the posterior, whose headers of zip and NumPy are most of it."""
    path = RUNS / "finished/posterior.npz"
    expected, data = content(path), path.read_bytes()
    copy = tmp_path / path.name
    for place in range(len(data)):
        copy.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        read, message = attempt(content, copy)
        assert read == expected if message is None else str(copy) in message, place


@pytest.mark.parametrize("seed", range(3))
def test_a_run_with_a_flipped_byte_loads_or_recovers(seed, tmp_path):
    rng = random.Random(seed)
    whole = pliant.load(RUNS / "finished")
    expected = encode(whole.posterior)
    recovered = 0
    for number in range(20):
        run = shutil.copytree(RUNS / "finished", tmp_path / str(number))
        name = rng.choice(["result.json", "history.json", "posterior.npz", "rounds/002.npz"])
        (run / name).write_bytes(flipped(rng, run / name))
        result, message = attempt(pliant.load, run)
        if result is None:
            assert str(run / name) in message
        else:
            assert encode(result.posterior) == expected
            assert list(result.history) == list(whole.history)
        with RunStore(run) as store, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            last = store.last()
        assert last is not None
        assert len(last.rows) == (1 if caught else 2)
        assert all(str(run / "rounds/002.npz") in str(warning.message) for warning in caught)
        recovered += len(caught)
    assert recovered > 0


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_file_that_ends_early_is_named(keep, tmp_path):
    for path in (RUNS / "finished").rglob("*.*"):
        if path.is_file():
            copy = tmp_path / path.name
            copy.write_bytes(path.read_bytes()[:keep])
            with pytest.raises(ValueError, match=path.name):
                content(copy)


def test_an_order_of_axes_is_kept(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    write_arrays(tmp_path / "a.npz", {"x": array})
    read = read_arrays(tmp_path / "a.npz")["x"]
    np.testing.assert_array_equal(read, array)
    assert read.flags.f_contiguous
    assert read.flags.writeable
