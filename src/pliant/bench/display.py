"""The progress of ``pliant bench run``: a live display on a terminal, plain lines elsewhere."""

import sys
import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pliant.bench.perform import RunOutcome
from pliant.bench.plan import Run
from pliant.bench.time_left import TimeLeft
from pliant.run.progress import duration

_SHOWN_FAILURES = 5


class GridDisplay:
    """Shows running, finished and failed runs and the time left. Use it in a ``with`` block.

    Args:
        waiting: The runs to perform.
        finished: The number of runs that are finished already.
        failed: The number of runs that failed before and are not retried.
    """

    def __init__(self, waiting: list[Run], finished: int, failed: int):
        self._total = len(waiting) + finished + failed
        self.finished, self.failed = finished, failed
        self._left = TimeLeft(waiting)
        self._running: dict[str, float] = {}
        self._failures: list[RunOutcome] = []
        console = Console(file=sys.stderr)
        self._live = (
            Live(console=console, get_renderable=self.__rich__, refresh_per_second=2)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> "GridDisplay":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, run: Run) -> None:
        """Show a run that a worker has started."""
        self._running[run.name] = time.monotonic()

    def ended(self, outcome: RunOutcome, workers: int) -> None:
        """Show a run that finished or failed, and update the time left."""
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
