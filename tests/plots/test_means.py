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


@pytest.mark.parametrize("most", [100, 1000])  # with 100, "10" and "20" would touch
def test_crowded_numbers_stand_upright(axes, most):
    numbers = [1, 2, 5, 10, 20, 50, most]
    number_axis(axes, numbers)
    labels = axes.get_xticklabels()
    assert [label.get_text() for label in labels] == [str(number) for number in numbers]
    assert {label.get_rotation() for label in labels} == {90}


@pytest.mark.parametrize(
    "values",
    [
        [-0.01, -0.005],  # unbiased estimates can all be below zero
        [-0.003, 0.02, 4e5],
        [-3e-9, 2e-8, 1e-5],
        [0.0, 0.0],
        [-1.0, 0.5],
        [0.0, 1e10],
    ],
)
def test_values_around_zero_and_over_ten_decades_have_a_few_ticks(axes, values):
    value_axis(axes, np.array(values), near_zero=1e-3 * min(map(abs, values)))
    low, high = axes.get_ylim()
    assert low < min(values) <= max(values) < high
    assert low < 0 < high
    shown = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 0.0 in shown
    assert len(shown) == len(axes.get_yticks()) <= 8


def test_small_values_stay_apart_from_zero_beside_large_ones(axes):
    value_axis(axes, np.array([-0.003, 0.3, 4e5]), near_zero=1e-3)
    place = axes.transData.transform([(1, 0.0), (1, 0.3)])[:, 1]
    height = axes.bbox.height
    assert place[1] - place[0] > 0.15 * height
