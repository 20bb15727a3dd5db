"""Draws distributed among workers in pieces, sized by the measured run time."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from pliant.simulators.layout import Layout
from pliant.simulators.pickling import pickled
from pliant.simulators.worker import (
    CRASH,
    KINDS,
    Call,
    Drawn,
    Piece,
    WorkerSetupError,
    make_piece,
    run_piece,
)

_SECONDS = 0.25  # of work per piece: much longer than any executor's overhead, short for a person
_AHEAD = 2  # pieces per worker that are submitted at a time: no worker has to wait
_ATTEMPTS = 4  # at a draw that ends its worker when it is made alone


class SimulatorError(Exception):
    """The simulator cannot continue; the message says why."""


class ExecutorError(SimulatorError):
    """The executor or its cluster cannot continue. The simulator may be all right."""


class Request(NamedTuple):
    """The requested draws: n for each of K parameters."""

    names: tuple[str, ...] | None
    """Of the parameter's entries; None if it is a single array."""
    keys: UInt[np.ndarray, "K words"]
    values: tuple[Float[np.ndarray, "K *shape"], ...]
    """Each entry of the parameters, in double precision."""
    n: int
    event: tuple[int, ...]
    dtype: str
    whole_sets: bool
    """Whether one call makes all draws of a parameter."""
    layout: Layout | None = None
    """The structure of a draw; None for a single array."""
    gaps: bool = False
    """Whether NaN in a draw stands for a value that was not measured."""
    under: Int[np.ndarray, "K n"] | None = None
    """The number of each draw's condition."""
    condition_names: tuple[str, ...] | None = None
    """Of the conditions' entries; None if they are a single array."""
    conditions: tuple[np.ndarray, ...] = ()
    """Each entry ``(N, *shape)`` of the conditions; none if there are no conditions."""

    def piece(self, number: int, places: Int[np.ndarray, " D"]) -> Piece:
        """The draws at some places of the flattened table ``(K, n)``, which are in order."""
        parameter, draw = np.divmod(places, self.n)
        some, parameter = np.unique(parameter, return_inverse=True)
        return Piece(
            number=number,
            names=self.names,
            keys=self.keys[some],
            values=tuple(values[some] for values in self.values),
            parameter=parameter,
            draw=draw,
            event=self.event,
            dtype=self.dtype,
            whole_sets=self.whole_sets,
            layout=self.layout,
            gaps=self.gaps,
            condition_names=self.condition_names,
            conditions=self._conditions(places),
        )

    def _conditions(self, places: Int[np.ndarray, " D"]) -> tuple[np.ndarray, ...]:
        if self.under is None:
            return ()
        return tuple(entry[self.under.reshape(-1)[places]] for entry in self.conditions)


class Pool(NamedTuple):
    """Where pieces are made."""

    workers: int
    """How many work at a time."""
    executor: Callable[[], Executor] | None
    """Gives the executor, or a new one after it broke; None makes the pieces right here."""
    replaceable: bool
    """Whether a broken executor is replaced by a new one."""
    abandon: Callable[[], Any]
    """Stops the running pieces when the run is interrupted."""


DrawnAt = tuple[Int[np.ndarray, " _"], Drawn]
"""Places in the flattened table ``(K, n)``, and their draws."""


def draw_pieces(
    call: Call, request: Request, wanted: Bool[np.ndarray, "K n"], pool: Pool
) -> Iterator[DrawnAt]:
    """Make the requested draws, and yield each piece as soon as it is finished.

    One draw of each of the first parameters comes first, to detect early a simulator that always
    fails; the others follow parameter by parameter. When a worker dies, the submitted pieces are
    repeated one draw at a time: only a draw that ends its worker four times in this way counts as
    failed.
    """
    pieces = _Pieces(request, _in_order(wanted, request.whole_sets))
    if pool.executor is not None:
        yield from _Crew(pool, pickled(call), tuple(sys.path), pieces).work()
        return
    while (work := pieces.next(1)) is not None:
        drawn = make_piece(call, work.piece)
        pieces.note(drawn)
        yield work.places, drawn


def _in_order(wanted: Bool[np.ndarray, "K n"], whole_sets: bool) -> list[np.ndarray]:
    """Groups of places, in the order in which they are made."""
    if whole_sets:
        return [np.flatnonzero(wanted.any(axis=1))]
    first = np.zeros_like(wanted)
    first[:PROBES, 0] = True
    return [np.flatnonzero(wanted & first), np.flatnonzero(wanted & ~first)]


PROBES = 100
"""Parameters whose first draw is made before all others."""


class _Work(NamedTuple):
    piece: Piece
    places: Int[np.ndarray, " D"]
    suspect: bool = False
    """Whether it was running when a worker died, and is therefore made alone."""
    deaths: int = 0
    """How many workers died while it was made alone."""


class _Pieces:
    """Splits the draws into pieces of about the same run time, and smaller ones at the end."""

    def __init__(self, request: Request, groups: list[Int[np.ndarray, " _"]]):
        self.request = request
        self.groups = deque(group for group in groups if group.size)
        self.per_call = request.n if request.whole_sets else 1
        self.count, self.calls, self.seconds = 0, 0, 0.0

    def note(self, drawn: Drawn) -> None:
        """Update the estimated run time of a draw."""
        self.calls += len(drawn.code) // self.per_call
        self.seconds += float(drawn.seconds.sum())

    def next(self, workers: int) -> _Work | None:
        """The next piece; None if there are no draws left."""
        if not self.groups:
            return None
        group = self.groups.popleft()
        left = len(group) + sum(map(len, self.groups))
        share = -(-left // (_AHEAD * workers)) if workers > 1 else left
        each = self.seconds / self.calls if self.calls else _SECONDS
        size = max(1, min(share, round(_SECONDS / max(each, 1e-9))))
        if size < len(group):
            self.groups.appendleft(group[size:])
        return self.work(group[:size])

    def work(self, units: Int[np.ndarray, " U"]) -> _Work:
        """A piece of some draws, or of some whole sets."""
        self.count += 1
        places = (units[:, None] * self.per_call + np.arange(self.per_call)).ravel()
        return _Work(self.request.piece(self.count, places), places)

    def singles(self, work: _Work) -> list[_Work]:
        """Each call of a piece as a piece of its own."""
        units = work.places[:: self.per_call] // self.per_call
        return [self.work(units[i : i + 1]) for i in range(len(units))]


@dataclass
class _Crew:
    """An executor's workers on the pieces of one request."""

    pool: Pool
    payload: bytes
    paths: tuple[str, ...]
    pieces: _Pieces
    handed_out: dict[Future[Drawn], _Work] = field(default_factory=dict)
    suspects: deque[_Work] = field(default_factory=deque)
    """Draws that were running when a worker died; each is made alone."""

    def work(self) -> Iterator[DrawnAt]:
        """Keep all workers busy until all draws are made."""
        try:
            try:
                while self._hand_out():
                    done, _ = wait(self.handed_out, return_when=FIRST_COMPLETED)
                    yield from filter(None, map(self._finished, done))
            except ExecutorError:
                yield from self._rescued()
                raise
        except BaseException:  # an interrupt must not leave workers behind either
            for future in self.handed_out:
                future.cancel()
            self.pool.abandon()
            raise

    def _rescued(self) -> list[DrawnAt]:
        """The pieces that were finished when the executor broke."""
        done = [future for future in self.handed_out if future.done() and not future.cancelled()]
        good = [future for future in done if future.exception() is None]
        return [(self.handed_out.pop(future).places, future.result()) for future in good]

    def _hand_out(self) -> bool:
        """Fill the workers' queues. Returns False if there is nothing left to wait for."""
        if self.suspects:
            if not self.handed_out:
                self._submit(self.suspects.popleft())
            return True
        while len(self.handed_out) < _AHEAD * self.pool.workers:
            work = self.pieces.next(self.pool.workers)
            if work is None:
                break
            self._submit(work)
        return bool(self.handed_out)

    def _submit(self, work: _Work) -> None:
        assert self.pool.executor is not None
        task = run_piece, self.payload, self.paths, work.piece
        try:
            try:
                future = self.pool.executor().submit(*task)
            except BrokenExecutor as error:  # an idle worker died
                self._check_replaceable(error)
                future = self.pool.executor().submit(*task)
        except (RuntimeError, OSError) as error:
            raise ExecutorError(f"executor: it does not accept more work: {error}.") from error
        self.handed_out[future] = work

    def _finished(self, future: Future[Drawn]) -> DrawnAt | None:
        work = self.handed_out.pop(future)
        error = CancelledError("cancelled") if future.cancelled() else future.exception()
        if error is None:
            drawn = future.result()
            self.pieces.note(drawn)
            return work.places, drawn
        if isinstance(error, WorkerSetupError | CancelledError):
            raise ExecutorError(f"The executor could not make a piece: {error}") from error
        if isinstance(error, BrokenExecutor):
            self._check_replaceable(error)
        if not work.suspect:
            singles = self.pieces.singles(work)
            self.suspects.extend(single._replace(suspect=True) for single in singles)
        elif work.deaths + 1 < _ATTEMPTS:
            self.suspects.append(work._replace(deaths=work.deaths + 1))
        else:
            return work.places, _crashed(work.piece, error)
        return None

    def _check_replaceable(self, error: BaseException) -> None:
        if not self.pool.replaceable:
            raise ExecutorError(
                f"The executor broke because a worker died ({error}). With workers= instead of "
                "executor=, dead workers are replaced."
            ) from error


def _crashed(piece: Piece, error: BaseException) -> Drawn:
    """The result of draws that end every worker."""
    size = len(piece.draw)
    message = f"ended its worker {_ATTEMPTS} times ({type(error).__name__})"
    return Drawn(
        x=np.zeros((size, *piece.event), piece.dtype),
        code=np.full(size, KINDS.index(CRASH), np.uint8),
        seconds=np.zeros(size, np.float32),
        examples={CRASH: (0, message)},
    )


def worker_count(executor: Executor) -> int:
    """How many workers an executor has; the number of cores if it does not tell."""
    client = getattr(executor, "_client", None)  # Dask
    if client is not None:
        try:
            return max(1, sum(client.ncores().values()))
        except (RuntimeError, OSError) as error:
            raise ExecutorError(f"executor: its cluster does not answer: {error}.") from error
    known = getattr(executor, "_max_workers", None)  # the standard library's, and loky's
    return known if isinstance(known, int) else os.cpu_count() or 1
