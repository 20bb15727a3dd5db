"""What simulators outside of JAX share: draws in pieces, on workers, that may fail."""

import abc
import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PyTree

from pliant._checks import check_instance, check_integer, check_real
from pliant.simulators.base import AbstractSimulator, Sets, Under
from pliant.simulators.dispatch import (
    PROBES,
    DrawnAt,
    Pool,
    Request,
    SimulatorError,
    draw_pieces,
    worker_count,
)
from pliant.simulators.layout import Layout
from pliant.simulators.worker import KINDS, OK, Call, Drawn

MISSING = 255
"""The code of a draw that has not been made yet."""


class Setting(eqx.Module):
    """What a problem tells its simulator."""

    layout: Layout = eqx.field(static=True, default=Layout(None, ((),)))
    """The structure of a draw."""
    conditions: Any = None
    """Arrays ``(N, ...)``, or a dict of them; None for no conditions."""
    gaps: bool = eqx.field(static=True, default=False)
    """Whether NaN in a draw stands for a value that was not measured."""


class SimulationError(ValueError):
    """A draw failed, and ``on_failure`` is "raise"."""


class AbstractExternalSimulator(AbstractSimulator):
    """A simulator that JAX cannot trace. It may be slow, and some of its draws may fail.

    A draw that raises, is not finite, has a wrong shape or takes too long is unusable; the other
    draws of its parameter are used without it.
    """

    workers: eqx.AbstractVar[int | None]
    executor: eqx.AbstractVar[Executor | None]
    timeout: eqx.AbstractVar[float | None]
    on_failure: eqx.AbstractVar[Literal["count", "raise"]]
    event: eqx.AbstractVar[tuple[int, ...] | None]
    setting: eqx.AbstractVar[Setting]

    def __check_init__(self):
        check_instance("setting", self.setting, Setting, "that of a Problem")
        if self.workers is not None:
            check_integer("workers", self.workers, at_least=1)
        if self.executor is not None:
            check_instance(
                "executor", self.executor, Executor, "concurrent.futures.ProcessPoolExecutor()"
            )
        if self.timeout is not None:
            check_real("timeout", self.timeout, above=0)
        if self.on_failure not in ("count", "raise"):
            raise ValueError(f'on_failure: expected "count" or "raise", got {self.on_failure!r}.')
        if self.event is not None and not (
            isinstance(self.event, tuple)
            and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in self.event)
        ):
            raise TypeError(f"event: expected a shape such as (10,), got {self.event!r}.")

    @property
    def compiled(self) -> bool:
        """False: batches can have any size."""
        return False

    @property
    @abc.abstractmethod
    def whole_sets(self) -> bool:
        """Whether one call makes all draws of a parameter."""

    @abc.abstractmethod
    def call(self) -> Call:
        """What is sent to workers: it can be pickled, and does not import JAX."""

    @abc.abstractmethod
    def own_pool(self, workers: int) -> tuple[Callable[[], Executor], Callable[[], Any]]:
        """The simulator's own workers: a function for the executor, and one that stops them."""

    def within(self, setting: Setting) -> "AbstractExternalSimulator":
        """The same simulator in a problem, which tells the shape of a draw unless it was given."""
        event = setting.layout.event if self.event is None else self.event
        return dataclasses.replace(self, event=event, setting=setting)

    @property
    def layout(self) -> Layout | None:
        """The structure of a draw; None for a single array."""
        named = self.setting.layout.names is not None
        return self.setting.layout if named else None

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """As given, or that of the observations; nothing is simulated."""
        if self.event is None:
            raise ValueError(
                "event: expected the shape of a draw, because there are no observations."
            )
        return self.event

    def simulate(self, keys: Key[Array, " K"], thetas: PyTree, n: int, under: Under = None) -> Sets:
        """Draw ``n`` observations for each parameter."""
        table = Table(self.request(keys, thetas, n, under))
        for places, drawn in self.draw(table.request, table.missing):
            table.fill(places, drawn)
        return table.sets()

    def request(
        self, keys: Key[Array, " K"], thetas: PyTree, n: int, under: Under = None
    ) -> Request:
        """The same request in NumPy."""
        given = self.setting.conditions
        named_conditions = isinstance(given, dict)
        words = np.asarray(jax.random.key_data(keys), np.uint32).reshape(len(keys), -1)
        named = isinstance(thetas, dict)
        entries = thetas.values() if named else [thetas]
        return Request(
            names=tuple(thetas) if named else None,
            keys=words,
            values=tuple(np.asarray(entry, np.float64) for entry in entries),
            n=n,
            event=self.event_shape(thetas),
            dtype=str(jnp.zeros(0).dtype),
            whole_sets=self.whole_sets,
            layout=self.layout,
            gaps=self.setting.gaps,
            under=None if under is None else np.asarray(under),
            condition_names=tuple(given) if named_conditions else None,
            conditions=tuple(given.values()) if named_conditions else (given,),
        )

    def draw(self, request: Request, wanted: Bool[np.ndarray, "K n"]) -> Iterator[DrawnAt]:
        """Make the wanted draws: places in the table ``(K, n)``, and what became of them.

        Raises:
            SimulationError: If a draw fails and ``on_failure`` is "raise".
            SimulatorError: If the executor breaks.
        """
        if self.whole_sets:
            wanted = np.repeat(wanted.any(axis=1, keepdims=True), request.n, axis=1)
        for places, drawn in draw_pieces(self.call(), request, wanted, self.pool()):
            if drawn.examples and self.on_failure == "raise":
                raise _failure(request, places, drawn)
            yield places, drawn

    @property
    def pool_size(self) -> int:
        """How many draws are made at a time."""
        if self.workers is None and self.executor is not None:
            return worker_count(self.executor)
        return self.workers or 1

    def pool(self) -> Pool:
        """Where the draws are made."""
        if self.executor is not None:
            executor = self.executor
            return Pool(self.pool_size, lambda: executor, replaceable=False, abandon=lambda: None)
        if self.workers is None:
            return Pool(1, None, replaceable=False, abandon=lambda: None)
        start, abandon = self.own_pool(self.workers)
        return Pool(self.workers, start, replaceable=True, abandon=abandon)


class Table:
    """All draws of a request, filled piece by piece."""

    def __init__(self, request: Request):
        self.request = request
        shape = (len(request.keys), request.n)
        self.x = np.zeros((*shape, *request.event), request.dtype)
        self.code = np.full(shape, MISSING, np.uint8)

    @property
    def missing(self) -> Bool[np.ndarray, "K n"]:
        """Which draws have not been made yet."""
        return self.code == MISSING

    def fill(self, places: Int[np.ndarray, " D"], drawn: Drawn) -> None:
        """Store the draws of a piece.

        Raises:
            SimulatorError: If the first draws of a hundred parameters all failed.
        """
        self.x.reshape(-1, *self.request.event)[places] = drawn.x
        self.code.reshape(-1)[places] = drawn.code
        probes = self.code[:PROBES, 0]
        failed = (probes != MISSING) & (probes != KINDS.index(OK))
        if len(probes) == PROBES and failed.all():
            raise SimulatorError(f"The first draws of all of {PROBES} parameters failed.")

    def sets(self) -> Sets:
        """What ``simulate`` returns."""
        return jnp.asarray(self.x), jnp.asarray(self.code == KINDS.index(OK))


def _failure(request: Request, places: Int[np.ndarray, " D"], drawn: Drawn) -> SimulationError:
    kind, (row, message) = next(iter(drawn.examples.items()))
    parameter, draw = divmod(int(places[row]), request.n)
    theta = [np.asarray(values[parameter]).tolist() for values in request.values]
    shown = theta[0] if request.names is None else dict(zip(request.names, theta, strict=True))
    return SimulationError(f"simulator: {kind} in draw {draw} with {shown}: {message}")
