"""``pliant watch``: a page in the browser that follows a run, or all runs of a grid."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.cli.errors import UserError
from pliant.cli.report import console, say
from pliant.cli.target import read_config, read_record, read_target_again
from pliant.cli.working import working
from pliant.cli.write_report import known_of
from pliant.run.folder import CONFIG, holds_result, holds_run

if TYPE_CHECKING:
    from pliant.bench.plan import Grid, Run
    from pliant.cli.target import Target
    from pliant.reporting.grid import GridRow
    from pliant.reporting.live import LiveRun, Source
    from pliant.reporting.server import PageServer
    from pliant.reporting.subject import Known

_LONGEST = 3.0  # seconds for open pages to fetch the last state


def watch_folder(folder: Path, *, port: int, problem: str | None = None) -> int:
    """Serve the page of a run, or of a grid, until Ctrl-C."""
    from pliant.bench.folders import GRID

    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder.")
    with working("loading"):
        is_grid = (folder / GRID).is_file()
        server = _grid_server(folder, port) if is_grid else _run_server(folder, port, problem)
    say(console(), f"{folder} is shown at {server.address} (Ctrl-C ends this)")
    server.forever()
    return 0


def _run_server(folder: Path, port: int, problem: str | None) -> "PageServer":
    from pliant.reporting.server import PageServer

    if not holds_run(folder) and not holds_result(folder):
        raise UserError(f"{folder} holds neither a run nor a grid of runs.")
    return PageServer(_live_run(folder, problem), port=port)


def _live_run(folder: Path, problem: str | None) -> "LiveRun":
    """The page of a run. Without its problem, it shows the posterior once the run has ended."""
    from pliant.reporting.live import LiveRun
    from pliant.reporting.subject import Known

    if problem is None and not (folder / CONFIG).is_file():
        say(
            console(),
            f"{folder} does not name its problem, because it was made from Python. Until the run "
            "has ended, its page has no posterior. Add --problem FILE.py:NAME to see it.",
        )
        return LiveRun(folder, lambda ended: Known())
    config = read_record(folder, problem)
    try:
        target = read_target_again(config, problem)
        _check_fit(folder, target)
    except UserError as mistake:
        if problem is not None:
            raise
        say(console(), f"{mistake} Until then, the page has no problem, prior and live posterior.")
        return LiveRun(folder, lambda ended: Known(config=config))
    return LiveRun(folder, lambda ended: known_of(target, config, ended=ended))


def _check_fit(folder: Path, target: "Target") -> None:
    """Raise if the problem is not that of the result, where there is one that can be read."""
    from pliant.diagnosis.diagnose import check_pair
    from pliant.run.result import load

    try:
        result = load(folder)
    except (OSError, ValueError):
        return
    check_pair(result, target.problem)


def _grid_server(folder: Path, port: int) -> "PageServer":
    from pliant.bench.folders import run_folder
    from pliant.cli.grid import read_grid_of
    from pliant.reporting.grid import LiveGrid
    from pliant.reporting.live import LiveRun
    from pliant.reporting.server import PageServer

    grid = read_grid_of(folder)
    runs = {run.name: run for run in grid.runs}
    open_pages: dict[str, LiveRun] = {}

    def find(name: str) -> "Source | None":
        run = runs.get(name)
        if run is None:
            return None
        if name not in open_pages:
            open_pages[name] = LiveRun(run_folder(folder, run), lambda ended: _known(run, ended))
        return open_pages[name]

    return PageServer(LiveGrid(grid.name, lambda: grid_rows(folder, grid)), find, port=port)


def _known(run: "Run", ended: bool) -> "Known":
    from pliant.cli.target import task_target

    config = {"target": run.task, "n_obs": run.n_obs, "seed": run.seed}
    return known_of(task_target(run.task, run.n_obs, run.seed), config, ended=ended)


def grid_rows(folder: Path, grid: "Grid") -> "list[GridRow]":
    """The state of every run of a grid."""
    from pliant.bench.folders import run_folder, state
    from pliant.reporting.grid import GridRow

    rows = []
    for run in grid.runs:
        place = run_folder(folder, run)
        now = state(place)
        settings = run.name, run.task, run.method, run.n_obs, run.seed
        rows.append(GridRow(*settings, now, _note(place, now)))
    return rows


def _note(folder: Path, state: str) -> str:
    """The status of a run, its error, or how many rounds it has made."""
    from pliant._files import read_json
    from pliant.bench.folders import read_error
    from pliant.reporting.progress import newest_round
    from pliant.run.folder import METRICS
    from pliant.run.show import counted

    try:
        if state == "finished":
            data: Any = read_json(folder / METRICS)
            return f"{data['status']}, {counted(int(data['rounds']), 'round')}"
        if state == "failed":
            return read_error(folder)
    except (KeyError, OSError, TypeError, ValueError):
        return ""
    return f"{counted(newest_round(folder), 'round')} done" if state == "begun" else ""


@contextmanager
def shown_live(folder: Path, target: "Target") -> Iterator["PageServer"]:
    """A server of a run's page while this process makes the run.

    Pages that are open at the end get the last state, if they ask for it within seconds.
    """
    import time

    from pliant.reporting.live import LiveRun
    from pliant.reporting.server import serving

    config = read_config(folder)
    source = LiveRun(folder, lambda ended: known_of(target, config, ended=ended))
    with serving(source) as server:
        yield server
        end = time.monotonic() + _LONGEST
        last = source.shown().state["version"] if server.readers else ""
        while server.readers and time.monotonic() < end:
            if all(version == last for version in server.readers.values()):
                break
            time.sleep(0.1)
