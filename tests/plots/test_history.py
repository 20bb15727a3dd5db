import numpy as np
import pytest

from pliant.plots.history import plot_history
from pliant.run.history import COLUMNS, History


def rows(n, **columns):
    made = [
        {
            "round": r,
            "bandwidth": 0.5 * 0.5**r,
            "eta": 0.5 * 0.5**r / 1e-3 - 1,
            "kl": 0.5,
            "ess": 100.0 + r,
            "distance_min": 0.1 / r,
            "distance_median": 0.3 / r,
            "distance_se": 0.01,
            "noise_share": 0.02 * r,
        }
        for r in range(1, n + 1)
    ]
    for name, values in columns.items():
        for row, value in zip(made, values, strict=True):
            row[name] = value
    return made


def panels(figure):
    """The panels by their columns, which the titles describe."""
    names = {column.meaning: name for name, column in COLUMNS.items()}
    return {names[axes.get_title(loc="left")]: axes for axes in figure.axes}


def test_a_panel_for_each_quantity_with_its_limits():
    figure = plot_history(History(rows(5)), epsilon=0.4, noise_limit=0.75)
    axes = panels(figure)
    assert len(axes) == 5
    bandwidth = axes["bandwidth"]
    assert bandwidth.get_yscale() == "log"
    np.testing.assert_allclose(bandwidth.lines[0].get_ydata(), [0.5 * 0.5**r for r in range(1, 6)])
    np.testing.assert_allclose(bandwidth.lines[1].get_ydata(), 1e-3)  # the target beta
    kl = axes["kl"]
    assert list(kl.lines[1].get_ydata()) == [0.4, 0.4]
    assert kl.get_ylim()[0] == 0
    noise = axes["noise_share"]
    assert list(noise.lines[1].get_ydata()) == [0.75, 0.75]
    assert noise.get_ylim()[1] > 0.75
    for each in axes.values():
        assert each.get_xlim() == (0.5, 5.5)


def test_the_band_is_one_error_around_the_median():
    axes = panels(plot_history(rows(4)))["distance_median"]
    assert axes.get_yscale() == "log"
    (band,) = axes.collections
    points = np.asarray(band.get_paths()[0].vertices)
    assert points[:, 1].max() == pytest.approx(0.31)
    assert points[:, 1].min() == pytest.approx(0.3 / 4 - 0.01)


def test_negative_distances_are_on_an_axis_that_can_show_them():
    axes = panels(plot_history(rows(3, distance_min=[0.1, 0.01, -0.005])))
    distance = axes["distance_median"]
    assert distance.get_yscale() == "symlog"
    assert distance.get_ylim()[0] < -0.005


def test_negative_distances_without_a_known_error_are_on_a_plain_axis():
    """Five draws for each parameter are too few to tell their noise: it may be found to be zero."""
    given = rows(3, distance_min=[0.1, 0.01, -0.005], distance_se=[0.0] * 3)
    assert panels(plot_history(given))["distance_median"].get_yscale() == "linear"


def test_rows_of_a_sampler_have_their_own_panels():
    """Without the columns of PLI, and with a tolerance below zero."""
    made = [
        {"round": r, "bandwidth": 0.2 - 0.1 * r, "acceptance": 0.5 / r, "ess": 40.0, "unique": 50}
        for r in range(1, 5)
    ]
    axes = panels(plot_history(made))
    assert set(axes) == {"bandwidth", "ess", "acceptance"}
    assert axes["bandwidth"].get_yscale() == "linear"
    np.testing.assert_allclose(axes["acceptance"].lines[0].get_ydata()[3], 0.125)


def test_limits_that_are_not_known_are_not_drawn():
    axes = panels(plot_history(rows(3)))
    assert len(axes["kl"].lines) == 1
    assert len(axes["noise_share"].lines) == 1


def test_one_round_shows_one_point():
    figure = plot_history(rows(1))
    for axes in figure.axes:
        assert axes.lines[0].get_marker() == "o"
        assert axes.get_xlim() == (0.5, 1.5)
    figure.canvas.draw()


def test_missing_and_infinite_numbers_leave_gaps():
    made = rows(4, noise_share=[0.1, float("inf"), None, 0.2], distance_se=[None] * 4)
    axes = panels(plot_history(made))
    drawn = axes["noise_share"].lines[0].get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), [False, True, True, False])
    assert len(axes["distance_median"].collections) == 0


def test_quantities_without_any_number_have_no_panel():
    made = rows(2, noise_share=[None, None], held_out=[3.0, 2.0])
    drawn = set(panels(plot_history(made)))
    assert "noise_share" not in drawn
    assert "held_out" in drawn


@pytest.mark.parametrize("history", [[], [{"round": 1, "usable": 0.0}]])
def test_nothing_to_draw_is_an_error(history):
    with pytest.raises(ValueError, match="at least one round"):
        plot_history(history)
