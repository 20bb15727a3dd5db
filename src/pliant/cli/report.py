"""What the commands print: plain lines and tables, with colours only on a terminal."""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pliant.cli.printable import printable
from pliant.run.folder import CONTENTS

if TYPE_CHECKING:
    from pliant.methods.status import Status
    from pliant.metrics.table import Metric
    from pliant.run.failures import Failure
    from pliant.run.history import History

_ROUND = (
    *("round", "bandwidth", "kl", "ess", "unique", "acceptance"),
    *("distance_min", "distance_median", "distance_se", "noise_share", "log_likelihood_se"),
    *("level", "usable", "busy", "simulations", "seconds"),
)


def console() -> Console:
    """Standard output; wide if it is not a terminal, so that tables in files are not cut."""
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, markup=False, emoji=False, width=width)


def say(out: Console, text: Text | str) -> None:
    """Print a line, wrapped at words only on a terminal."""
    shown = printable(text) if isinstance(text, str) else text
    out.print(shown, soft_wrap=not out.is_terminal)


def counted(n: int, noun: str) -> str:
    """``1 round``, ``2,000 rounds``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def print_status(out: Console, status: "Status", message: str) -> None:
    """Print the status and the message."""
    colour = "red" if status.is_error else "green" if status.is_success else "yellow"
    told = f": {printable(message)}" if message else ""
    say(out, Text.assemble((status, f"bold {colour}"), told))


@contextmanager
def quiet_status() -> Iterator[None]:
    """Let Python not warn of a status that ``print_status`` prints."""
    from pliant.methods.status import PliantWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PliantWarning)
        yield


def print_failures(out: Console, failures: "Sequence[Failure]") -> None:
    """Print one line per kind of failure."""
    for failure in failures:
        say(out, f"failed draws: {failure}")


def print_summary(out: Console, samples: Mapping[str, Any], truth: Mapping[str, Any]) -> None:
    """Print mean, standard deviation, quantiles and, if known, the truth of each parameter."""
    import numpy as np

    from pliant.problem.samples import as_row, as_table

    names, values = as_table(samples)
    quantiles = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
    columns = [values.mean(axis=0), values.std(axis=0), *quantiles]
    heads = ["", "mean", "sd", "5 %", "50 %", "95 %"]
    if truth:
        columns.append(as_row(truth, list(samples)))
        heads.append("truth")
    rows = [[name, *(f"{x:.4g}" for x in row)] for name, *row in zip(names, *columns, strict=True)]
    print_table(out, heads, rows)


def print_history(out: Console, history: "History") -> None:
    """Print one line per round."""
    from pliant.run.history import COLUMNS

    shown = [name for name in _ROUND if name in history.columns]
    rows = [[COLUMNS[name].format(row.get(name)) for name in shown] for row in history]
    print_table(out, [COLUMNS[name].label for name in shown], rows, right=range(len(shown)))


def print_metrics(out: Console, rows: "Sequence[Metric]") -> None:
    """Print each metric with its noise floor."""
    cells = [[row.name, _cell(row.value, ".4g"), _cell(row.floor, ".4g")] for row in rows]
    print_table(out, ["", "value", "noise floor"], cells)


def print_files(out: Console, folder: Path) -> None:
    """Print the folder and its contents."""
    say(out, Text(printable(f"{folder}/"), style="bold"))
    for name, meaning in CONTENTS.items():
        if (folder / name).exists():
            say(out, f"  {name:<14} {meaning}")


def print_table(
    out: Console,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] | range | None = None,
) -> None:
    """Print columns of text; ``right`` has the right-aligned ones, by default all but the first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, head in enumerate(heads):
        aligned = index > 0 if right is None else index in right
        table.add_column(Text(head), justify="right" if aligned else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    out.print(table)


def _cell(value: Any, form: str) -> str:
    return "-" if value is None else format(value, form)
