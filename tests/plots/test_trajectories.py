import numpy as np

from pliant.plots.style import new_figure
from pliant.plots.trajectories import draw_trajectories


def test_median_and_truth_are_lines_and_bands_hold_their_shares():
    times = np.linspace(0, 1, 5)
    predicted = np.arange(101.0)[:, None] + np.zeros(5)
    axes = new_figure(3, 2).subplots()
    draw_trajectories(axes, times, predicted, np.full(5, 7.0), colour="#0072B2")
    median, truth = axes.lines
    np.testing.assert_allclose(median.get_ydata(), 50.0)
    np.testing.assert_allclose(truth.get_ydata(), 7.0)
    spans = [band.get_datalim(axes.transData) for band in axes.collections]
    assert [(span.y0, span.y1) for span in spans] == [(5.0, 95.0), (25.0, 75.0)]
