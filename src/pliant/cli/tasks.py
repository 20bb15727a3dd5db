"""``pliant tasks``: a table of the built-in tasks."""

import math

from rich.console import Console

from pliant.cli.report import console, print_table


def print_tasks() -> None:
    """Print name, dimensions, kind of posterior and summary of each task."""
    with Console(stderr=True).status("loading"):
        from pliant import tasks

        rows = []
        for name in tasks.names():
            task = tasks.get(name)
            n_parameters = sum(math.prod(d.shape()) for d in task.prior.values())
            shape = task.problem(1).event_shape
            data = " x ".join(map(str, shape)) or "1"
            exact = "exact" if task.has_reference else "-"
            rows.append([name, str(n_parameters), data, exact, task.summary])
    print_table(console(), ["task", "parameters", "data", "posterior", ""], rows, right=(1, 2))
