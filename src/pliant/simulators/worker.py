"""What a worker does: make the draws of one piece. It imports NumPy, but not JAX."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.simulators.layout import Layout, LayoutError

if TYPE_CHECKING:  # it would take longer to import than the rest
    from jaxtyping import Float, Int, UInt

OK = "ok"
EXCEPTION = "exception"
NOT_FINITE = "not finite"
WRONG_SHAPE = "wrong shape"
TIMEOUT = "timeout"
CRASH = "crash"
KINDS = (OK, EXCEPTION, NOT_FINITE, WRONG_SHAPE, TIMEOUT, CRASH)
"""The possible outcomes of a draw; the codes of ``Drawn`` and of the ledger are indices of it."""

_REAL = "biuf"
_TAIL = 2000  # characters of a traceback that are kept


class OutOfTimeError(BaseException):
    """A draw took longer than its timeout. Simulators that catch ``Exception`` do not catch it."""


class Piece(NamedTuple):
    """Draws that one worker makes in one task."""

    number: int
    """Unique: an executor may treat tasks with equal arguments as one."""
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
    layout: Layout | None = None
    """The structure of a draw; None for a single array."""
    gaps: bool = False
    """Whether NaN in a draw stands for a value that was not measured."""
    condition_names: tuple[str, ...] | None = None
    """Of the condition's entries; None if it is a single array."""
    conditions: tuple[np.ndarray, ...] = ()
    """Each entry ``(D, *shape)`` of the draws' conditions; none if there are no conditions."""


class Drawn(NamedTuple):
    """The draws of a piece, and which of them failed."""

    x: Float[np.ndarray, "D *event"]
    """Zero where a draw is not usable."""
    code: UInt[np.ndarray, " D"]
    """Places in ``KINDS``."""
    seconds: Float[np.ndarray, " D"]
    examples: dict[str, tuple[int, str]]
    """For each kind of failure, the first such draw and its message."""


Call = Callable[..., Any]
"""``call(words, theta)`` makes a draw from 4 random words, ``call(words, theta, condition)`` one
under a condition. A call for a set has the number of draws as its third argument, or their
conditions."""


class WorkerSetupError(Exception):
    """A worker could not load the simulator."""


def run_piece(payload: bytes, paths: tuple[str, ...], piece: Piece) -> Drawn:
    """Make a piece in a worker.

    Args:
        payload: The pickled ``Call``.
        paths: Where the sender's Python finds modules.
        piece: What to draw.

    Raises:
        WorkerSetupError: If the payload cannot be loaded here.
    """
    return make_piece(_loaded(payload, paths), piece)


def make_piece(call: Call, piece: Piece) -> Drawn:
    """Make all draws of a piece; a failure is recorded in the code of its draw."""
    words = seed_words(piece.keys[piece.parameter], piece.draw)
    size = len(piece.draw)
    x = np.zeros((size, *piece.event), piece.dtype)
    drawn = Drawn(x, np.zeros(size, np.uint8), np.zeros(size, np.float32), {})
    with np.errstate(over="ignore", invalid="ignore"):
        make = _make_sets if piece.whole_sets else _make_draws
        make(call, words, piece, drawn)
    good = np.isfinite(x) | np.isnan(x) if piece.gaps else np.isfinite(x)
    bad = np.flatnonzero(~good.reshape(size, -1).all(axis=1))
    if bad.size:
        drawn.code[bad] = KINDS.index(NOT_FINITE)
        shown = np.array2string(x[bad[0]], threshold=20)
        drawn.examples[NOT_FINITE] = (int(bad[0]), f"returned {shown}")
        x[bad] = 0.0
    return drawn


def _make_draws(call: Call, words: np.ndarray, piece: Piece, drawn: Drawn) -> None:
    """One call per draw. This loop is the whole overhead of a fast simulator."""
    x, event, seconds, clock = drawn.x, piece.event, drawn.seconds, time.perf_counter
    for index, start, stop in _parameters(piece):
        theta = theta_at(piece, index)
        named = piece.names is not None
        now = clock()
        for row in range(start, stop):
            try:
                given = _condition(piece, row) if piece.conditions else ()
                value = call(words[row], theta.copy() if named else theta, *given)
                if piece.layout is not None:
                    value = piece.layout.joined(value)
                if not isinstance(value, np.ndarray | np.generic) or isinstance(
                    value, np.ma.MaskedArray
                ):
                    value = _unmasked(value)
                if value.shape == event and value.dtype.kind in _REAL:
                    x[row] = value
                else:
                    _fail(drawn, row, row + 1, WRONG_SHAPE, _wrong_shape(event, value))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # sys.exit() in a draw must not end the run
                _fail(drawn, row, row + 1, *_told(error))
            before, now = now, clock()
            seconds[row] = now - before


def _make_sets(call: Call, words: np.ndarray, piece: Piece, drawn: Drawn) -> None:
    """One call for all draws of a parameter."""
    for index, start, stop in _parameters(piece):
        began = time.perf_counter()
        event = (stop - start, *piece.event)
        try:
            rows = slice(start, stop)
            given = _condition(piece, rows) if piece.conditions else (stop - start,)
            value = call(words[start], theta_at(piece, index), *given)
            if piece.layout is not None:
                value = piece.layout.joined(value, lead=1)
            value = _unmasked(value)
            if value.shape == event and value.dtype.kind in _REAL:
                drawn.x[start:stop] = value
            else:
                _fail(drawn, start, stop, WRONG_SHAPE, _wrong_shape(event, value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _fail(drawn, start, stop, *_told(error))
        drawn.seconds[start:stop] = (time.perf_counter() - began) / (stop - start)


def _unmasked(value: Any) -> np.ndarray:
    """An array with NaN where it is masked: such draws fail."""
    if isinstance(value, np.ma.MaskedArray) and value.dtype.kind in _REAL:
        return np.where(np.ma.getmaskarray(value), np.nan, value.data)
    return np.asarray(value)


def _fail(drawn: Drawn, start: int, stop: int, kind: str, message: str) -> None:
    drawn.code[start:stop] = KINDS.index(kind)
    drawn.examples.setdefault(kind, (start, message))


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
    """One parameter: numbers and read-only arrays in double precision."""
    entries = [values[index] for values in piece.values]
    for entry in entries:
        if isinstance(entry, np.ndarray):
            entry.flags.writeable = False
    return entries[0] if piece.names is None else dict(zip(piece.names, entries, strict=True))


def _condition(piece: Piece, rows: int | slice) -> tuple[Any]:
    """The condition of a draw, or those of a set, as the last argument of a call."""
    entries = [values[rows] for values in piece.conditions]
    names = piece.condition_names
    return (entries[0] if names is None else dict(zip(names, entries, strict=True)),)


def _parameters(piece: Piece) -> Iterator[tuple[int, int, int]]:
    """Each parameter with its first row and the row after its last."""
    edges = np.flatnonzero(np.diff(piece.parameter)) + 1
    starts = [0, *edges.tolist()]
    for start, stop in zip(starts, [*starts[1:], len(piece.draw)], strict=True):
        yield int(piece.parameter[start]), start, stop


@lru_cache(maxsize=8)
def _loaded(payload: bytes, paths: tuple[str, ...]) -> Call:
    sys.path.extend(path for path in paths if path not in sys.path)
    try:
        return pickle.loads(payload)  # sent by this run: nothing is ever read from a file
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise WorkerSetupError(
            f"A worker could not load the simulator: {_shown(error)}. It needs the same packages, "
            "and the modules that the simulator is defined in."
        ) from error


def _wrong_shape(event: tuple[int, ...], value: np.ndarray | np.generic) -> str:
    if value.dtype.kind not in _REAL:
        return f"expected real numbers, got the type {value.dtype}"
    return f"expected the shape {event}, got {value.shape}"


def _shown(error: BaseException) -> str:
    """The type of an error and its message; both may come from a user's own class."""
    try:
        return f"{type(error).__name__}: {error}".strip()
    except KeyboardInterrupt:
        raise
    except BaseException as again:
        return f"{type(error).__name__}, whose message raised {type(again).__name__}"


def _told(error: BaseException) -> tuple[str, str]:
    """The kind of failure, the error message, and where it was raised."""
    if isinstance(error, OutOfTimeError):
        return TIMEOUT, str(error)
    if isinstance(error, LayoutError):
        return WRONG_SHAPE, str(error)
    text = _shown(error)
    frames = traceback.format_list(traceback.extract_tb(error.__traceback__)[2:])
    return EXCEPTION, f"{text}\n{''.join(frames)}"[:_TAIL].rstrip()
