"""The history of a run: one row a round."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

_FORMATS = {
    "round": "d",
    "simulations": ",d",
    "fit_steps": "d",
    "ess": ".0f",
    "seconds": ".1f",
    "unique": "d",
    "capped": "d",
    "tries": ",d",
}


class History:
    """Rows of numbers: ``history[-1]`` is the last round, ``history["ess"]`` a column.

    Columns of PLI: ``round``, ``bandwidth`` (beta_t), ``eta``, ``beta`` (the target), ``kl``
    (achieved, in nats),
    ``ess``, ``distance_min``, ``distance_median``, ``distance_se`` (standard error of one
    distance), ``noise_share`` (of the distances' variance), ``usable`` (share of draws),
    ``fit_steps``, ``held_out`` (loss of the fit), ``simulations`` and ``seconds`` so far; and
    ``features`` where random features stand in for MMD's kernel. Simulators outside of JAX add
    ``busy``, the share of the workers' time that they had.

    A learned likelihood adds ``net_steps``, ``net_loss`` (minus the mean log density of held-out
    draws), ``accord`` (the effective number of rounds whose networks predict the newest draws) and
    ``disagreement`` (of the networks, in nats over all observations).

    The ABC samplers have neither ``eta``, ``kl`` nor a fit. Their ``bandwidth`` is the tolerance;
    they add ``acceptance`` (the share of proposals) and ``unique`` (different particles), and
    ``MHABC`` adds ``capped`` (particles that ran out of tries) and ``tries``.
    """

    def __init__(self, rows: Sequence[dict[str, Any]] = ()):
        self._rows = [dict(row) for row in rows]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> "History": ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return History(self._rows[index])
        if isinstance(index, str):
            if index not in self.columns:
                raise KeyError(f"history: expected one of {list(self.columns)}, got {index!r}.")
            values = [row.get(index) for row in self._rows]
            return np.array([np.nan if value is None else value for value in values])
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for row in self._rows for name in row))

    def append(self, row: dict[str, Any]) -> None:
        """Add the row of a round."""
        self._rows.append(dict(row))

    def __str__(self) -> str:
        columns = [n for n in self.columns if any(row.get(n) is not None for row in self._rows)]
        cells = [[_cell(name, row.get(name)) for name in columns] for row in self._rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        lines = [columns, *cells]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        )

    __repr__ = __str__


def _cell(name: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return format(value, _FORMATS.get(name, ".3g"))
