"""What ``pliant bench run`` shows: a live view on a terminal, and plain lines elsewhere."""

import sys
import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pliant.bench.perform import Outcome
from pliant.bench.plan import Run
from pliant.bench.time_left import TimeLeft
from pliant.cli.report import counted
from pliant.run.progress import duration

_SHOWN_FAILURES = 5


class View:
    """Running, finished and failed runs, and the time left. Use it in a ``with`` block.

    Args:
        waiting: The runs that will be performed.
        finished: How many are finished already.
        failed: How many have failed before, and are left so.
    """

    def __init__(self, waiting: list[Run], finished: int, failed: int):
        self._total = len(waiting) + finished + failed
        self.finished, self.failed = finished, failed
        self._left = TimeLeft(waiting)
        self._running: dict[str, float] = {}
        self._failures: list[Outcome] = []
        console = Console(file=sys.stderr)
        self._live = (
            Live(console=console, get_renderable=self.__rich__, refresh_per_second=2)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> "View":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, run: Run) -> None:
        """A worker has begun with a run."""
        self._running[run.name] = time.monotonic()

    def ended(self, outcome: Outcome, workers: int) -> None:
        """A run is finished or has failed, while there are so many workers."""
        del self._running[outcome.name]
        self._left.ended(outcome, workers)
        if outcome.failed:
            self.failed += 1
            self._failures.append(outcome)
        else:
            self.finished += 1
        if self._live is None:
            how = "FAILED: " if outcome.failed else ""
            print(
                f"[{self.finished + self.failed}/{self._total}] {outcome.name}: {how}"
                f"{outcome.text}, {duration(outcome.seconds)}; {self._left}",
                flush=True,
            )

    def __rich__(self) -> Group:
        done = self.finished + self.failed
        head = Text.assemble(
            (f"{done}/{self._total}", "bold"),
            f"  {self.finished} finished",
            (f"  {self.failed} failed", "red" if self.failed else ""),
            f"  {len(self._running)} running  {self._left}",
        )
        table = Table.grid(padding=(0, 2))
        for name, start in self._running.items():
            table.add_row(Text(name), Text(duration(time.monotonic() - start)))
        failures = [
            Text(f"{failure.name}: {failure.text}", style="red", overflow="ellipsis", no_wrap=True)
            for failure in self._failures[-_SHOWN_FAILURES:]
        ]
        return Group(head, ProgressBar(self._total, done, width=60), table, *failures)


def closing_line(finished: int, failed: int, waiting: int) -> str:
    """How the grid stands, in words."""
    parts = [counted(finished, "run") + " finished"]
    parts += [f"{failed} failed"] * bool(failed) + [f"{waiting} to do"] * bool(waiting)
    return ", ".join(parts) + "."
