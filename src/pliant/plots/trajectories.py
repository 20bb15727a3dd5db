"""Motions predicted by a posterior, with the true one."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from pliant.plots.style import BLACK, tint

_BANDS = ((0.05, 0.95, 0.25), (0.25, 0.75, 0.55))
"""Quantiles, and the strength of the colour between them."""


def draw_trajectories(
    axes: Axes,
    times: Float[np.ndarray, " T"],
    predicted: Float[np.ndarray, "K T"],
    true: Float[np.ndarray, " T"],
    *,
    colour: str,
) -> None:
    """Draw the central 50 % and 90 % of the predictions by time, and the truth as a dashed line.

    Args:
        axes: The axes.
        times: The times of the steps.
        predicted: One motion per posterior draw.
        true: The motion to match.
        colour: The colour of the predictions.
    """
    for low, high, strength in _BANDS:
        edges = np.quantile(predicted, (low, high), axis=0)
        axes.fill_between(times, *edges, color=tint(colour, strength), linewidth=0)
    axes.plot(times, np.median(predicted, axis=0), color=colour, linewidth=0.9)
    axes.plot(times, true, color=BLACK, linewidth=0.9, linestyle=(0, (3, 2)))
    axes.set_xlim(times[0], times[-1])
