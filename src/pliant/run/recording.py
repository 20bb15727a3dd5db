"""The record of a run's simulations: failures, time, and a ledger of the slow ones."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from pliant._deadline import check_time
from pliant.problem.samples import as_table
from pliant.problem.space import Space
from pliant.run.failures import Failure, added, where_it_fails
from pliant.run.ledger import Ledger
from pliant.simulators.base import AbstractSimulator, Sets, Under
from pliant.simulators.external import AbstractExternalSimulator, Table
from pliant.simulators.worker import KINDS, NOT_FINITE, OK, Drawn


class Record:
    """A run's simulations so far.

    Args:
        space: The parameter space, for names.
        failures: The failures of earlier rounds.
        watch: Called with the number of draws made so far, the number requested, and how many are
            made per second, if that is known.
    """

    def __init__(
        self,
        space: Space,
        failures: tuple[Failure, ...] = (),
        watch: Callable[[int, int, float | None], Any] = lambda made, wanted, pace: None,
    ):
        self.space = space
        self.failures = failures
        self.watch = watch
        self.begin(None)

    def begin(self, ledger: Ledger | None) -> None:
        """Start a round, whose slow draws go into the ledger."""
        self.ledger = ledger
        self._busy, self._available = 0.0, 0.0
        self._thetas: list[PyTree] = []
        self._failing: list[Float[np.ndarray, " K"]] = []

    @property
    def row(self) -> dict[str, float]:
        """Columns for the round's row."""
        return {"busy": min(1.0, self._busy / self._available)} if self._available > 0 else {}

    def explanation(self) -> str:
        """Which draws failed, and where, for the message of a failed run."""
        if not self.failures:
            return ""
        failing = np.concatenate(self._failing) if self._failing else np.zeros(0)
        place = ""
        if failing.size:
            theta = jax.tree.map(lambda *leaves: np.concatenate(leaves), *self._thetas)
            place = " " + where_it_fails(*as_table(theta, self.space.names), failing)
        return f" Failures: {'; '.join(map(str, self.failures))}.{place}"

    def compiled(self, keys: Key[Array, " K"], thetas: PyTree, sets: Sets) -> Sets:
        """Record the draws of a JAX simulator. Repeated parameters are padding."""
        ok = np.asarray(sets[1])
        if not ok.all():
            words = np.asarray(jax.random.key_data(keys)).reshape(len(ok), -1)
            own = np.sort(np.unique(words, axis=0, return_index=True)[1])
            bad = np.where(ok[own], 0, KINDS.index(NOT_FINITE)).astype(np.uint8)
            some = jax.tree.map(lambda leaf: np.asarray(leaf)[own], thetas)
            self._note(some, bad, {NOT_FINITE: (int(np.flatnonzero(bad)[0]), "")})
        return sets

    def external(
        self,
        simulator: AbstractExternalSimulator,
        keys: Key[Array, " K"],
        thetas: PyTree,
        n: int,
        under: Under,
    ) -> Sets:
        """Make the draws that the ledger does not have, and record them."""
        request = simulator.request(keys, thetas, n, under)
        table = Table(request)
        examples: dict[str, tuple[int, str]] = {}

        def take(places: Int[np.ndarray, " D"], drawn: Drawn) -> None:
            for kind, (row, message) in drawn.examples.items():
                first = (int(places[row]), message)
                examples[kind] = min(examples.get(kind, first), first)
            table.fill(places, drawn)
            made = int(np.sum(~table.missing))
            seconds = max(time.monotonic() - start, 1e-9)
            self.watch(made, table.code.size, (made - known) / seconds if made > known else None)

        start, spent, known = time.monotonic(), 0.0, table.code.size
        try:
            for places, drawn in self.ledger.known(table) if self.ledger is not None else ():
                take(places, drawn)
            start, known = time.monotonic(), int(np.sum(~table.missing))
            for places, drawn in simulator.draw(request, table.missing):
                spent += float(drawn.seconds.sum())
                if self.ledger is not None:
                    self.ledger.add(request, places, drawn)
                take(places, drawn)
                check_time()
        finally:
            if self.ledger is not None:
                self.ledger.write(request)
            self._note(thetas, table.code, examples)
        self._busy += spent
        self._available += simulator.pool_size * (time.monotonic() - start)
        return table.sets()

    def _note(self, thetas: PyTree, code: np.ndarray, examples: dict[str, tuple[int, str]]) -> None:
        """Count failures by kind; examples are places in the flattened ``code``."""
        for kind, (place, message) in sorted(examples.items()):
            parameter = place // code.shape[1]
            one = jax.tree.map(lambda leaf, k=parameter: np.asarray(leaf)[k].tolist(), thetas)
            named = one if isinstance(one, dict) else {"theta": one}
            count = int(np.sum(code == KINDS.index(kind)))
            self.failures = added(self.failures, kind, count, message, named)
        made = code < len(KINDS)
        some = made.any(axis=1)
        failed = made & (code != KINDS.index(OK))
        self._thetas.append(jax.tree.map(lambda leaf: np.asarray(leaf)[some], thetas))
        self._failing.append(failed[some].sum(axis=1) / made[some].sum(axis=1))


class RecordedSimulator(AbstractSimulator):
    """A simulator whose draws are recorded."""

    simulator: AbstractSimulator
    record: Record = eqx.field(static=True)

    @property
    def compiled(self) -> bool:
        """As for the simulator itself."""
        return self.simulator.compiled

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """As for the simulator itself."""
        return self.simulator.event_shape(theta)

    def simulate(self, keys: Key[Array, " K"], thetas: PyTree, n: int, under: Under = None) -> Sets:
        """The simulator's draws, some of which may come from the ledger."""
        if isinstance(self.simulator, AbstractExternalSimulator):
            return self.record.external(self.simulator, keys, thetas, n, under)
        given = () if under is None else (under,)
        return self.record.compiled(keys, thetas, self.simulator.simulate(keys, thetas, n, *given))
