"""Figures as methods of a result and of a posterior: a short way to ``pliant.plots``.

The room of the plots is above this one, because it draws what is made here. It is loaded when a
figure is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.run.posterior import Posterior
    from pliant.run.result import Result


def posterior_figure(posterior: "Posterior", n: int, seed: int, **options: Any) -> "Figure":
    """The pair plot of ``n`` draws; ``options`` are those of ``pliant.plots.plot_pairs``."""
    from pliant.plots.pairs import plot_pairs

    return plot_pairs(posterior.sample(n, seed=seed), **options)


def history_figure(result: "Result") -> "Figure":
    """The history, with the limits of the method that it has."""
    from pliant.plots.history import plot_history

    schedule = getattr(result.method, "schedule", None)
    return plot_history(
        result.history,
        epsilon=getattr(schedule, "epsilon", None),
        noise_limit=getattr(result.method, "noise_limit", None),
    )
