"""Draws in files; ``test_store.py`` has runs that resume from them."""

import numpy as np
import pytest

from pliant._files import read_arrays, write_arrays
from pliant.run.ledger import Ledger, holds_usable_draw
from pliant.simulators.dispatch import Request
from pliant.simulators.external import Table
from pliant.simulators.worker import EXCEPTION, KINDS, OK, Drawn

PARAMETERS, DRAWS = 4, 3
REQUEST = Request(
    names=("mu",),
    keys=np.arange(2 * PARAMETERS, dtype=np.uint32).reshape(PARAMETERS, 2),
    values=(np.linspace(0.0, 1.0, PARAMETERS),),
    n=DRAWS,
    event=(2,),
    dtype="float32",
    whole_sets=False,
)
PLACES = np.array([0, 4, 5, 11])
CODES = [KINDS.index(kind) for kind in (OK, OK, EXCEPTION, OK)]
DRAWN = Drawn(
    x=np.arange(8, dtype=np.float32).reshape(4, 2),
    code=np.array(CODES, np.uint8),
    seconds=np.full(4, 0.5, np.float32),
    examples={EXCEPTION: (2, "ValueError: no")},
)


@pytest.fixture
def folder(tmp_path):
    """The folder of a ledger with four draws of the request."""
    ledger = Ledger(tmp_path / "001")
    ledger.add(REQUEST, PLACES, DRAWN)
    ledger.write(REQUEST)
    return tmp_path / "001"


def known(folder, **changes):
    return Ledger(folder).known(Table(REQUEST._replace(**changes)))


def test_another_process_knows_the_draws(folder):
    ((places, drawn),) = known(folder)
    np.testing.assert_array_equal(places, PLACES)
    np.testing.assert_array_equal(drawn.x, DRAWN.x)
    np.testing.assert_array_equal(drawn.code, DRAWN.code)
    np.testing.assert_array_equal(drawn.seconds, DRAWN.seconds)
    assert drawn.examples == DRAWN.examples


def test_draws_are_found_by_their_keys_in_any_order(folder):
    order = np.array([3, 1])
    changes = {"keys": REQUEST.keys[order], "values": (REQUEST.values[0][order],)}
    ((places, drawn),) = known(folder, **changes)
    np.testing.assert_array_equal(places, [4, 5, 2])  # of parameters 1, 1 and 3
    np.testing.assert_array_equal(drawn.x, DRAWN.x[1:])
    assert drawn.examples == {EXCEPTION: (1, "ValueError: no")}


def test_fewer_draws_of_each_parameter_are_enough(folder):
    ((places, drawn),) = known(folder, n=2)
    np.testing.assert_array_equal(places, [0, 3])
    assert drawn.examples == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": REQUEST.keys + np.uint32(100)},
        {"values": (REQUEST.values[0] + 1,)},
        {"values": (REQUEST.values[0][:, None],)},
        {"values": (*REQUEST.values, *REQUEST.values)},
        {"event": (3,)},
        {"dtype": "float64"},
    ],
)
def test_draws_of_another_request_are_not_used(changes, folder):
    assert known(folder, **changes) == []


def test_draws_are_written_once_and_in_order(folder):
    ledger = Ledger(folder)
    ledger.write(REQUEST)  # nothing is left to write
    ledger.add(REQUEST, PLACES[:1] + 1, Drawn(*(part[:1] for part in DRAWN[:3]), {}))
    ledger.write(REQUEST)
    assert sorted(path.name for path in folder.iterdir()) == ["00001.npz", "00002.npz"]
    assert [places.tolist() for places, _ in known(folder)] == [PLACES.tolist(), [1]]


def test_a_damaged_file_is_named_and_left_out(folder):
    (folder / "00001.npz").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match=r"00001\.npz is damaged\. Its draws are made again"):
        ledger = Ledger(folder)
    assert ledger.known(Table(REQUEST)) == []
    ledger.add(REQUEST, PLACES, DRAWN)
    ledger.write(REQUEST)
    assert (folder / "00002.npz").exists()


def test_usable_draws_are_told_from_failed_ones(folder, tmp_path):
    path = folder / "00001.npz"
    assert holds_usable_draw(path)
    failed = Ledger(tmp_path / "002")
    failed.add(REQUEST, PLACES, DRAWN._replace(code=np.full(4, KINDS.index(EXCEPTION), np.uint8)))
    failed.write(REQUEST)
    assert not holds_usable_draw(tmp_path / "002" / "00001.npz")
    path.write_bytes(b"nothing")
    assert holds_usable_draw(path)  # nobody can tell


FORGED = {
    "floats": {"parameter": np.zeros(4)},
    "negative": {"parameter": np.array([0, 0, 0, -1])},
    "beyond": {"parameter": np.array([0, 0, 0, 9])},
    "draw": {"draw": np.full(4, -1)},
    "short": {"draw": np.zeros(3, int)},
    "no-axis": {"x": np.array(1.0)},
    "text": {"x": np.array(["a"] * 4)},
    "keys": {"keys": np.array("abc")},
    "theta": {"theta_0": np.zeros(1)},
    "code": {"code": np.array(["a"] * 4)},
    "seconds": {"seconds": np.zeros((4, 2))},
    "examples": {"examples": np.array('[["exception", "2", "a"]]')},
    "example-beyond": {"examples": np.array('[["exception", 7, "a"]]')},
    "no-examples": {"examples": np.array("3")},
    "deep-examples": {"examples": np.array("[" * 5000)},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_draws_are_named_and_not_used(name, folder):
    (path,) = folder.glob("*.npz")
    write_arrays(path, {**read_arrays(path), **FORGED[name]})
    with pytest.warns(UserWarning, match=r"00001\.npz is damaged. Its draws are made again"):
        assert known(folder) == []
