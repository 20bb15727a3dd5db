"""How long the rest of a grid will take, from the runs of the same kind so far."""

from collections import defaultdict

from pliant.bench.perform import Outcome
from pliant.bench.plan import Run
from pliant.run.progress import duration


class TimeLeft:
    """An estimate in words.

    A run that is to come takes as long as those of its task and method took on average, or as all
    runs did where there are none.

    Args:
        waiting: The runs that will be performed.
    """

    def __init__(self, waiting: list[Run]):
        self._kinds = {run.name: (run.task, run.method) for run in waiting}
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._workers = 1

    def ended(self, outcome: Outcome, workers: int) -> None:
        """A run has ended, while so many workers were busy."""
        self._seconds[self._kinds.pop(outcome.name)].append(outcome.seconds)
        self._workers = max(1, workers)

    @property
    def seconds(self) -> float | None:
        """None before the first run has ended."""
        known = [seconds for kind in self._seconds.values() for seconds in kind]
        if not known:
            return None
        usual = sum(known) / len(known)
        means = {kind: sum(values) / len(values) for kind, values in self._seconds.items()}
        return sum(means.get(kind, usual) for kind in self._kinds.values()) / self._workers

    def __str__(self) -> str:
        seconds = self.seconds
        return "" if seconds is None else f"about {duration(seconds)} left"
