"""What a worker does: make the draws of one piece. It imports NumPy, and neither JAX nor Pliant."""

import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt

OK = "ok"
EXCEPTION = "exception"
NOT_FINITE = "not finite"
WRONG_SHAPE = "wrong shape"
TIMEOUT = "timeout"
CRASH = "crash"
KINDS = (OK, EXCEPTION, NOT_FINITE, WRONG_SHAPE, TIMEOUT, CRASH)
"""What can become of a draw; the codes of ``Drawn`` and of the ledger are places in here."""

_TAIL = 2000  # characters of a traceback that are kept


class OutOfTimeError(Exception):
    """A draw took longer than its timeout."""


class Piece(NamedTuple):
    """Draws that one worker makes in one go."""

    number: int
    """Different for every piece that is handed out, so that no executor takes two for one."""
    names: tuple[str, ...] | None
    """Of the parameter's entries; None if it is a single array."""
    keys: UInt[np.ndarray, "P words"]
    """The random key of each parameter."""
    values: tuple[Float[np.ndarray, "P *shape"], ...]
    """Each entry of the parameters."""
    parameter: Int[np.ndarray, " D"]
    """Which parameter a draw belongs to."""
    draw: Int[np.ndarray, " D"]
    """Its number among the draws of this parameter."""
    event: tuple[int, ...]
    dtype: str
    whole_sets: bool
    """Whether one call makes all draws of a parameter."""


class Drawn(NamedTuple):
    """What became of the draws of a piece."""

    x: Float[np.ndarray, "D *event"]
    """Zero where a draw is not usable."""
    code: UInt[np.ndarray, " D"]
    """Places in ``KINDS``."""
    seconds: Float[np.ndarray, " D"]
    examples: dict[str, tuple[int, str]]
    """For each kind of failure the first draw that failed so, and its message."""


Call = Callable[..., Any]
"""``call(words, theta)`` makes a draw from 4 random words; with a third argument n, a set of n."""


class WorkerSetupError(Exception):
    """A worker could not load the simulator."""


def run_piece(payload: bytes, paths: tuple[str, ...], piece: Piece) -> Drawn:
    """Make all draws of a piece; whatever goes wrong in one of them is noted in its code.

    Args:
        payload: The pickled ``Call``.
        paths: Where the sender's Python finds modules.
        piece: What to draw.

    Raises:
        WorkerSetupError: If the payload cannot be loaded here.
    """
    call = _loaded(payload, paths)
    words = seed_words(piece.keys[piece.parameter], piece.draw)
    size = len(piece.draw)
    x = np.zeros((size, *piece.event), piece.dtype)
    code = np.zeros(size, np.uint8)
    seconds = np.zeros(size, np.float32)
    examples: dict[str, tuple[int, str]] = {}

    def fail(rows: slice, kind: str, message: str) -> None:
        code[rows] = KINDS.index(kind)
        examples.setdefault(kind, (rows.start, message))

    clock = time.perf_counter
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, theta in _calls(piece):
            event = (rows.stop - rows.start, *piece.event) if piece.whole_sets else piece.event
            more = (rows.stop - rows.start,) if piece.whole_sets else ()
            start = clock()
            try:
                value = np.asarray(call(words[rows.start], theta, *more))
                if value.shape == event and value.dtype.kind in "biuf":
                    x[rows] = value
                else:
                    fail(rows, WRONG_SHAPE, _wrong_shape(event, value))
            except OutOfTimeError as error:
                fail(rows, TIMEOUT, str(error))
            except Exception as error:
                fail(rows, EXCEPTION, _told(error))
            seconds[rows] = (clock() - start) / (rows.stop - rows.start)
    finite = np.isfinite(x).reshape(size, -1).all(axis=1)
    bad = np.flatnonzero(~finite)
    if bad.size:
        code[bad] = KINDS.index(NOT_FINITE)
        examples[NOT_FINITE] = (int(bad[0]), f"returned {np.array2string(x[bad[0]], threshold=20)}")
        x[bad] = 0.0
    return Drawn(x, code, seconds, examples)


def seed_words(
    keys: UInt[np.ndarray, "D words"], draw: Int[np.ndarray, " D"]
) -> UInt[np.ndarray, "D 4"]:
    """256 random bits for each draw, from the key of its parameter and its own number alone."""
    state = np.zeros(len(keys), np.uint64)
    for column in (*np.atleast_2d(keys).T, draw):
        state = _mixed((state ^ column.astype(np.uint64)) + _GOLDEN)
    return _mixed(state[:, None] + np.arange(1, 5, dtype=np.uint64) * _GOLDEN)


def _mixed(state: UInt[np.ndarray, "*D"]) -> UInt[np.ndarray, "*D"]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), a bijection of 64 bits."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def theta_at(piece: Piece, index: int) -> Any:
    """One parameter: numbers and arrays in double precision, which cannot be written to."""
    entries = [values[index] for values in piece.values]
    for entry in entries:
        if isinstance(entry, np.ndarray):
            entry.flags.writeable = False
    return entries[0] if piece.names is None else dict(zip(piece.names, entries, strict=True))


def _calls(piece: Piece) -> Iterator[tuple[slice, Any]]:
    """The rows that each call fills, and a copy of its parameter."""
    start, size = 0, len(piece.draw)
    while start < size:
        index = int(piece.parameter[start])
        stop = start + int(np.searchsorted(piece.parameter[start:], index, side="right"))
        theta = theta_at(piece, index)
        if piece.whole_sets:
            yield slice(start, stop), theta
        else:
            for row in range(start, stop):
                yield slice(row, row + 1), dict(theta) if piece.names is not None else theta
        start = stop


@lru_cache(maxsize=8)
def _loaded(payload: bytes, paths: tuple[str, ...]) -> Call:
    sys.path.extend(path for path in paths if path not in sys.path)
    try:
        return pickle.loads(payload)  # what this very run sent: nothing is ever read from a file
    except Exception as error:
        raise WorkerSetupError(
            f"A worker could not load the simulator: {type(error).__name__}: {error}. It needs the "
            "same packages, and the modules that the simulator is defined in."
        ) from error


def _wrong_shape(event: tuple[int, ...], value: np.ndarray) -> str:
    if value.dtype.kind not in "biuf":
        return f"expected real numbers, got the type {value.dtype}"
    return f"expected the shape {event}, got {value.shape}"


def _told(error: Exception) -> str:
    """What an error says, and where in the simulator it came from."""
    text = f"{type(error).__name__}: {error}".strip()
    frames = traceback.format_list(traceback.extract_tb(error.__traceback__)[2:])
    return f"{text}\n{''.join(frames)}"[:_TAIL].rstrip()
