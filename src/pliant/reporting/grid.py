"""The page of a grid: the state of every run, with a link to its own page."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from pliant.problem.markup import Html
from pliant.reporting.elements import element, table
from pliant.reporting.live import Shown
from pliant.reporting.page import as_json, asset, document

_HEADS = ["run", "task", "method", "N", "seed", "state", "what happened"]
_PERIOD = 3000  # milliseconds between two questions of an open page


class GridRow(NamedTuple):
    """A run of a grid."""

    name: str
    task: str
    method: str
    n_obs: int
    seed: int
    state: str
    """``finished``, ``failed``, ``begun`` or ``waiting``."""
    note: str
    """Its status, its error, or how far it is."""


class LiveGrid:
    """The page of a grid.

    Args:
        title: The name of the grid.
        rows: Reads the states of all runs.
    """

    def __init__(self, title: str, rows: Callable[[], Sequence[GridRow]]):
        self._title, self._rows = title, rows

    def shown(self) -> Shown:
        """The page with the states as they are now."""
        rows = list(self._rows())
        section, told = grid_section(rows), told_of_rows(rows)
        state: dict[str, Any] = {
            "live": True,
            "period": _PERIOD,
            "told": told,
            "charts": {},
            "pairs": None,
            "sections": {"runs": section.code},
        }
        version = hashlib.sha256(as_json(state).encode()).hexdigest()[:16]
        state = {"version": version, **state}
        body = [element("main", section, id="main")]
        first = {name: value for name, value in state.items() if name != "sections"}
        title = f"Grid: {self._title}"
        script = (asset("page.js"),)
        page = document(title, body, first, script=script, told=told, live=True)
        return Shown(page, state)


def run_path(name: str) -> str:
    """Where the page of a run is."""
    return f"/run/{quote(name, safe='')}/"


def told_of_rows(rows: Sequence[GridRow]) -> str:
    """How many runs are in which state."""
    states = list(dict.fromkeys(row.state for row in rows))
    counts = ", ".join(f"{sum(row.state == s for row in rows)} {s}" for s in states)
    return f"{len(rows)} runs: {counts}." if rows else "No runs."


def grid_section(rows: Sequence[GridRow]) -> Html:
    """The table of all runs."""
    cells: list[list[Html | str]] = [
        [
            row.name if row.state == "waiting" else _link(row),
            row.task,
            row.method,
            str(row.n_obs),
            str(row.seed),
            element("span", row.state, class_=f"badge {row.state}"),
            row.note,
        ]
        for row in rows
    ]
    values = [
        [row.name, row.task, row.method, row.n_obs, row.seed, row.state, row.note] for row in rows
    ]
    return element(
        "section",
        element("h2", "Runs", id="runs-title"),
        table(
            "All runs of the grid", _HEADS, cells, values=values, texts=(0, 1, 2, 5, 6), id="grid"
        ),
        id="runs",
        aria_labelledby="runs-title",
    )


def _link(row: GridRow) -> Html:
    return element("a", row.name, href=run_path(row.name))
