import numpy as np
import pytest

from pliant.plots.regions import axis_limits, draw_regions
from pliant.plots.style import BLUE, new_figure

LIMITS = ((-4.0, 4.0), (-4.0, 4.0))


def test_limits_hold_99_percent_of_every_table_and_the_truth():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(4000, 2)), rng.normal(3.0, 0.1, (500, 2))]
    low, high = axis_limits(tables, None, 0)
    assert low < np.quantile(tables[0][:, 0], 0.005)
    assert np.quantile(tables[1][:, 0], 0.995) < high < 4.0
    assert axis_limits(tables, np.array([9.0, 0.0]), 0)[1] > 9.0
    assert axis_limits(tables, np.array([9.0, 0.0]), 1) == axis_limits(tables, None, 1)


def test_limits_leave_out_what_is_not_finite():
    column = np.array([[0.0], [1.0], [np.inf], [np.nan]])
    low, high = axis_limits([column], None, 0)
    assert -0.2 < low < 0.01
    assert 0.99 < high < 1.2


@pytest.mark.parametrize(("filled", "paths"), [(True, 2), (False, 2)])
def test_two_regions_are_drawn(filled, paths):
    axes = new_figure(3, 3).subplots()
    x, y = np.random.default_rng(0).normal(size=(2, 4000))
    draw_regions(axes, x, y, LIMITS, colour=BLUE, filled=filled)
    (contours,) = axes.collections
    assert len(contours.get_paths()) == paths
    assert (axes.get_xlim(), axes.get_ylim()) == LIMITS
    outer = contours.get_paths()[0].get_extents()
    # 90 % of a standard normal in two dimensions lie within the radius 2.15
    assert outer.x1 == pytest.approx(2.15, rel=0.15)


def test_samples_in_one_cell_have_no_regions():
    axes = new_figure(3, 3).subplots()
    draw_regions(axes, np.zeros(50), np.zeros(50), LIMITS, colour=BLUE)
    assert len(axes.collections) == 0
    assert axes.get_xlim() == LIMITS[0]
