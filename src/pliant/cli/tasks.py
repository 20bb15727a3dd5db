"""``pliant tasks``: the built-in tasks in a table."""

import math

from rich.console import Console

from pliant.cli.report import console, print_table


def print_tasks() -> None:
    """Print name, dimensions, whether the exact posterior is known, and a summary of each task."""
    with Console(stderr=True).status("loading"):
        import jax

        from pliant import tasks

        rows = []
        for name in tasks.names():
            task = tasks.get(name)
            n_particles = sum(math.prod(d.shape()) for d in task.prior.values())
            shape = jax.eval_shape(task.simulator, jax.random.key(0), task.truth).shape
            data = " x ".join(map(str, shape)) or "1"
            exact = "exact" if task.has_reference else "-"
            rows.append([name, str(n_particles), data, exact, task.summary])
    print_table(console(), ["task", "parameters", "data", "posterior", ""], rows, right=(1, 2))
