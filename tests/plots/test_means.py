import numpy as np
import pytest

from pliant.plots.means import draw_means, number_axis, value_axis
from pliant.plots.style import BLUE, new_figure


@pytest.fixture
def axes():
    return new_figure(3, 3).subplots()


def test_means_have_bars(axes):
    low, high = np.array([0.5, np.nan]), np.array([1.5, np.nan])
    draw_means(axes, [1, 10], np.array([1.0, 2.0]), low, high, color=BLUE)
    assert axes.lines[0].get_ydata().tolist() == [1.0, 2.0]
    assert [y for _, y in axes.collections[0].get_segments()[0]] == [0.5, 1.5]


def test_every_number_has_a_tick(axes):
    number_axis(axes, [2, 10, 100])
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "10", "100"]


@pytest.mark.parametrize(
    ("values", "near_zero", "scale"),
    [
        ([0.1, 10.0], 0.01, "log"),
        ([-0.1, 10.0], 0.01, "symlog"),
        ([-5.0, 10.0], None, "linear"),
        ([np.nan], 0.01, "linear"),
    ],
)
def test_the_scale_suits_the_values(axes, values, near_zero, scale):
    value_axis(axes, np.array(values), near_zero=near_zero)
    assert axes.get_yscale() == scale
    known = [value for value in values if np.isfinite(value)]
    low, high = axes.get_ylim()
    assert all(low < value < high for value in known)
