import numpy as np
import pytest

from pliant.bench.collect import interval
from pliant.bench.drawings.curves import draw_mean_curve, mean_curve
from pliant.plots.style import BLUE, new_figure

VALUES = [[1.0, 2.0, 3.0], [3.0, 4.0], [5.0, np.nan]]
CURVES = [(np.arange(1, len(values) + 1), np.array(values)) for values in VALUES]


def test_each_round_has_the_mean_of_the_runs_that_reached_it():
    rounds, mean, low, high = mean_curve(CURVES)
    assert rounds.tolist() == [1, 2, 3]
    assert mean.tolist() == [3.0, 3.0, 3.0]
    assert (low[0], high[0]) == pytest.approx(interval(np.array([1.0, 3.0, 5.0])))
    assert np.all(np.isnan([low[1:], high[1:]]))  # two values, and one


@pytest.mark.parametrize(("runs", "bands"), [(3, 1), (2, 0), (1, 0)])
def test_three_runs_have_a_band(runs, bands):
    axes = new_figure(3, 3).subplots()
    draw_mean_curve(axes, CURVES[:runs], color=BLUE)
    assert len(axes.lines) == 1
    assert len(axes.collections) == bands
