"""What a worker makes of a piece: draws, failures of each kind, and words that never repeat."""

import re
import sys

import numpy as np
import pytest

from pliant.simulators.worker import KINDS, OutOfTimeError, Piece, make_piece, seed_words


def piece(n=6, *, whole_sets=False):
    """``n`` draws of two parameters 0 and 10."""
    return Piece(
        number=1,
        names=("mu",),
        keys=np.array([[1, 2], [3, 4]], np.uint32),
        values=(np.array([0.0, 10.0]),),
        parameter=np.repeat([0, 1], n // 2),
        draw=np.tile(np.arange(n // 2), 2),
        event=(2,),
        dtype="float32",
        whole_sets=whole_sets,
    )


def test_words_depend_on_key_and_draw_alone_and_never_repeat():
    keys = np.repeat(np.arange(200, dtype=np.uint32).reshape(100, 2), 50, axis=0)
    draw = np.tile(np.arange(50), 100)
    words = seed_words(keys, draw)
    assert len(np.unique(words)) == words.size == 5000 * 4
    np.testing.assert_array_equal(seed_words(keys[77:80], draw[77:80]), words[77:80])
    bits = np.unpackbits(words.view(np.uint8)).mean()
    assert bits == pytest.approx(0.5, abs=4 * 0.5 / (words.size * 64) ** 0.5)


def test_draws_are_put_in_their_places():
    drawn = make_piece(lambda words, theta: theta["mu"] + np.array([0.0, 1.0]), piece())
    np.testing.assert_array_equal(drawn.x, [[0, 1]] * 3 + [[10, 11]] * 3)
    assert not drawn.code.any()
    assert not drawn.examples


def late(words, theta):
    raise OutOfTimeError("took longer than 1 s")


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


def unprintable(words, theta):
    raise UnprintableError


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda words, theta: 1 / 0, "exception", "ZeroDivisionError"),
        (lambda words, theta: np.array([1.0, np.nan]), "not finite", "nan"),
        (lambda words, theta: np.zeros(3), "wrong shape", r"\(2,\), got \(3,\)"),
        (lambda words, theta: np.array(["a", "b"]), "wrong shape", "real numbers"),
        (late, "timeout", "longer than 1 s"),
        (lambda words, theta: sys.exit(0), "exception", "SystemExit: 0"),
        (unprintable, "exception", "UnprintableError, whose message raised RuntimeError"),
    ],
)
def test_a_failure_is_coded_and_told_and_leaves_zeros(call, kind, message):
    def at_ten(words, theta):
        return call(words, theta) if theta["mu"] == 10 else np.ones(2)

    drawn = make_piece(at_ten, piece())
    assert [KINDS[code] for code in drawn.code] == ["ok"] * 3 + [kind] * 3
    np.testing.assert_array_equal(drawn.x, [[1, 1]] * 3 + [[0, 0]] * 3)
    row, text = drawn.examples[kind]
    assert row == 3
    assert re.search(message, text)


@pytest.mark.parametrize("whole_sets", [True, False])
def test_only_an_interrupt_ends_a_piece(whole_sets):
    def ends(how):
        def call(words, theta, n=None):
            raise how

        return call

    drawn = make_piece(ends(SystemExit(0)), piece(whole_sets=whole_sets))
    assert [KINDS[code] for code in drawn.code] == ["exception"] * 6
    with pytest.raises(KeyboardInterrupt):
        make_piece(ends(KeyboardInterrupt), piece(whole_sets=whole_sets))


def test_draws_are_unusable_where_they_are_masked():
    rows = np.ma.masked_greater(np.arange(6).reshape(3, 2), 4)
    drawn = make_piece(lambda words, theta, n: rows, piece(whole_sets=True))
    assert [KINDS[code] for code in drawn.code] == ["ok", "ok", "not finite"] * 2
    np.testing.assert_array_equal(drawn.x, [[0, 1], [2, 3], [0, 0]] * 2)
    drawn = make_piece(lambda words, theta: rows[1 if theta["mu"] else 2], piece())
    assert [KINDS[code] for code in drawn.code] == ["not finite"] * 3 + ["ok"] * 3


def test_whole_sets_come_from_one_call_for_each_parameter():
    calls = []

    def make(words, theta, n):
        calls.append(n)
        return np.full((n, 2), theta["mu"])

    drawn = make_piece(make, piece(whole_sets=True))
    assert calls == [3, 3]
    np.testing.assert_array_equal(drawn.x[:, 0], [0, 0, 0, 10, 10, 10])


def test_a_function_cannot_write_to_its_parameter():
    def write(words, theta):
        theta[0] = 1.0

    given = piece()._replace(names=None, values=(np.zeros((2, 2)),))
    assert "read-only" in make_piece(write, given).examples["exception"][1]
