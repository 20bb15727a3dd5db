"""How long the rest of a grid will take, estimated from the runs that have ended."""

from collections import defaultdict

from pliant.bench.perform import RunOutcome
from pliant.bench.plan import Run
from pliant.run.progress import duration


class TimeLeft:
    """An estimate in words.

    A waiting run is expected to take the mean time of the runs with its task and method, or of
    all runs if none of them has ended.

    Args:
        waiting: The runs to perform.
    """

    def __init__(self, waiting: list[Run]):
        self._kinds = {run.name: (run.task, run.method) for run in waiting}
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._workers = 1

    def ended(self, outcome: RunOutcome, workers: int) -> None:
        """Record a run that ended, and the current number of workers."""
        self._seconds[self._kinds.pop(outcome.name)].append(outcome.seconds)
        self._workers = max(1, workers)

    @property
    def seconds(self) -> float | None:
        """The estimate; None until a run has ended."""
        known = [seconds for kind in self._seconds.values() for seconds in kind]
        if not known:
            return None
        usual = sum(known) / len(known)
        means = {kind: sum(values) / len(values) for kind, values in self._seconds.items()}
        return sum(means.get(kind, usual) for kind in self._kinds.values()) / self._workers

    def __str__(self) -> str:
        seconds = self.seconds
        return "" if seconds is None else f"about {duration(seconds)} left"
