"""The history of a run: one row per round, and the table of all columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from pliant._files import read_json
from pliant.problem import markup
from pliant.run.folder import HISTORY, check_format
from pliant.run.show import counted, history_html


class Column(NamedTuple):
    """A column of the history."""

    label: str
    """A short name for the heads of tables."""
    meaning: str
    form: str = ".3g"
    """How a number is formatted."""

    def format(self, value: Any) -> str:
        """A number as text; a dash if there is none."""
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        return "-" if missing else format(value, self.form)


COLUMNS = {
    "round": Column("round", "number of the round", "d"),
    "bandwidth": Column("bandwidth", "bandwidth, or an ABC sampler's tolerance"),
    "eta": Column("eta", "bandwidth / beta - 1"),
    "beta": Column("beta", "target bandwidth"),
    "kl": Column("KL", "KL from the last posterior, nats", ".3f"),
    "moved": Column("moved", "KL of APT's posterior from that of the round before, nats", ".3f"),
    "ess": Column("ESS", "effective sample size of the weights", ",.0f"),
    "spearman": Column("rank corr.", "rank correlation of the weights with those without Z(theta)"),
    "partition_fit": Column("fit of Z", "leave-one-out R^2 of the fit of log Z(theta)", ".2f"),
    "acceptance": Column("accepted", "share of accepted proposals", ".1%"),
    "unique": Column("unique", "number of different particles", ",d"),
    "capped": Column("capped", "particles that ran out of tries", ",d"),
    "tries": Column("tries", "tries of all particles", ",d"),
    "distance_min": Column("min D", "smallest distance to the observations"),
    "distance_median": Column("median D", "median distance to the observations"),
    "distance_se": Column("error of D", "standard error of one distance", ".2g"),
    "noise_share": Column("noise", "share of noise in the distances' variance", ".0%"),
    "unconverged": Column("unconverged", "transport plans that did not converge", ",d"),
    "features": Column("features", "random features that replace MMD's kernel", ",d"),
    "usable": Column("usable", "share of usable draws", ".0%"),
    "steps": Column("steps", "steps towards the target with the round's learned likelihood", "d"),
    "level": Column("level", "share of the log-likelihood that the posterior contains", ".2f"),
    "sets": Column("sets", "simulated sets without a failed draw", ",d"),
    "logarithms": Column("logs", "features that the networks see as logarithms", "d"),
    "unexplained": Column(
        "unexplained", "share of the parameters' variance that learned statistics leave unexplained"
    ),
    "networks": Column("networks", "networks that were trained and averaged", "d"),
    "net_steps": Column("net steps", "gradient steps of the networks", ",d"),
    "net_loss": Column("net loss", "minus the mean log density of held-out draws"),
    "agreeing_rounds": Column(
        "agreeing", "effective number of rounds whose networks predict the newest draws"
    ),
    "log_likelihood_se": Column(
        "error", "standard error of the learned log-likelihood over the posterior, nats"
    ),
    "fit_steps": Column("fit steps", "steps of the fit", ",d"),
    "held_out": Column("held-out loss", "held-out loss of the fit"),
    "busy": Column("workers busy", "share of the workers' time spent simulating", ".0%"),
    "simulations": Column("simulations", "simulator calls so far", ",d"),
    "seconds": Column("seconds", "seconds so far", ".1f"),
}
"""Every column that a method of Pliant writes. A row has those of its method."""


class History:
    """Rows of numbers: ``history[-1]`` is the last round, ``history["ess"]`` a column."""

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

    @property
    def filled(self) -> list[str]:
        """The names of the columns that hold anything."""
        return [n for n in self.columns if any(row.get(n) is not None for row in self._rows)]

    def cells(self, columns: Sequence[str]) -> list[list[str]]:
        """The texts of the columns, one list per round."""
        return [[_text(name, row.get(name)) for name in columns] for row in self._rows]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with one row per round, the number of which is the index.

        Raises:
            ImportError: If pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas.") from error
        frame = pandas.DataFrame(self._rows, columns=list(self.columns))
        return frame.set_index("round") if "round" in frame else frame

    def __str__(self) -> str:
        columns = self.filled
        cells = self.cells(columns)
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        lines = [columns, *cells]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        )

    def __repr__(self) -> str:
        return f"History({counted(len(self), 'round')} of {', '.join(self.columns) or 'nothing'})"

    def _repr_html_(self) -> str:
        return markup.page("History", history_html(self))


def _text(name: str, value: Any) -> str:
    """A cell as text; a user's own method may write other columns, with texts in them."""
    column = COLUMNS.get(name, Column(name, ""))
    return value if name not in COLUMNS and isinstance(value, str) else column.format(value)


_MEANINGS = "\n".join(f"    ``{name}``: {column.meaning}." for name, column in COLUMNS.items())
History.__doc__ = (
    f"{History.__doc__}\n\n    Columns, of which each method has some:\n\n{_MEANINGS}\n"
)


def read_history(folder: Path) -> History:
    """The history of a result that was saved in a folder.

    Raises:
        FileNotFoundError, ValueError: If there is none, or it is damaged.
    """
    path = folder / HISTORY
    data = read_json(path)
    check_format(path, data)
    try:
        check_rows(data["rounds"])
        if set(data) != {"format", "rounds"}:
            raise ValueError(f"unknown fields in {sorted(data)}.")
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        reason = f"expected one row per round ({error})."
        raise ValueError(f"{path}: damaged, or not written by Pliant: {reason}") from error
    return History(data["rounds"])


def check_rows(rows: Any) -> None:
    """Raise if these are not rows of single values, and of numbers in the columns of Pliant."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, dict) for row in rows):
        raise TypeError("the rows are no tables")
    for name, value in ((name, value) for row in rows for name, value in row.items()):
        if not isinstance(value, bool | int | float | str | np.generic | None):
            raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
        if name in COLUMNS:
            COLUMNS[name].format(value)
