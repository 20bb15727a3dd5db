from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pliant.bench.drawings.metrics import draw_all, draw_main, draw_panel
from pliant.bench.drawings.style import line_style
from pliant.plots.style import new_figure


def test_lines_are_the_means_of_the_table_one_colour_a_method(results):
    figure = draw_main(results)
    axes = figure.axes[0]
    for index, method in enumerate(["PLI-MMD", "PMC-ABC-MMD", "APT"]):
        rows = [
            row
            for row in results.summary
            if (row["experiment"], row["task"], row["method"], row["metric"])
            == ("accuracy", "gaussian_location", method, "MMD^2")
        ]
        np.testing.assert_allclose(axes.lines[index].get_ydata(), [row["mean"] for row in rows])
        assert axes.lines[index].get_color() == line_style(method, [])["color"]
        lines: Any = axes.collections[index]
        ends = lines.get_segments()
        np.testing.assert_allclose(
            [(low[1], high[1]) for low, high in ends], [(row["low"], row["high"]) for row in rows]
        )
    assert [axes.get_ylabel() for axes in figure.axes[1::2]] == [
        "predictive MMD²",
        "predictive Wasserstein²",
    ]  # of the pendulum, which has no exact posterior


def test_all_metrics_has_a_panel_for_each_that_is_known(results):
    shown = [axes for axes in draw_all(results).axes if axes.axison]
    assert len(shown) == 5 + 4
    assert "accumulated error" in [axes.get_ylabel() for axes in shown]


def test_lower_is_better_for_the_density_of_the_truth(results):
    (axes,) = [
        axes for axes in draw_all(results).axes if axes.get_ylabel().startswith("minus log density")
    ]
    rows = [row for row in results.summary if row["metric"] == "log density of truth"]
    rows = [r for r in rows if (r["task"], r["method"]) == ("gaussian_location", "PLI-MMD")]
    rows = [row for row in rows if row["experiment"] == "accuracy"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [-row["mean"] for row in rows])


def row(n_obs, mean, *, method="PLI-MMD", seeds=3, floor: float | None = None, metric="MMD^2"):
    bars = {"low": 0.9 * mean, "high": 1.1 * mean} if seeds > 1 else {"low": None, "high": None}
    common = {"method": method, "metric": metric, "n_obs": n_obs, "seeds": seeds}
    return {**common, "mean": mean, **bars, "floor": floor}


def panel(rows, methods):
    figure = new_figure(2, 2)
    axes = figure.subplots()
    draw_panel(axes, rows, methods)
    figure.draw_without_rendering()
    return axes


def test_methods_may_have_numbers_and_seeds_of_their_own():
    rows = [row(n, 1 / n, floor=0.01) for n in (1, 2, 1000)]
    rows += [row(2, 0.1, method="PLI", seeds=1, floor=5.0)]
    axes = panel(rows, ["PLI-MMD", "PLI"])
    first, second, floor = axes.lines
    assert [len(line.get_xdata()) for line in (first, second)] == [3, 1]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "1000"]
    np.testing.assert_array_equal(floor.get_ydata(), [0.01] * 3)  # of the most seeds
    bars: Any = axes.collections[1]
    assert [len(points) for points in bars.get_segments()] == [0]  # one seed has no interval


@pytest.mark.wrong_types  # rows stand in for the results of a grid
def test_the_default_method_comes_last_in_a_colour_of_its_own():
    methods = ["PLI", "APT", "PLI-W", "PLI-MMD"]
    common = {"experiment": "accuracy", "task": "slcp"}
    rows = [{**common, **row(n, 1 / n, method=name)} for n in (2, 10) for name in methods]
    results: Any = SimpleNamespace(summary=rows)
    for figure in (draw_main(results), draw_all(results)):
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == ["PLI-MMD", "PLI-W", "APT", "PLI (default)"]
        colours = [line.get_color() for line in figure.axes[0].lines]
        assert len(set(colours)) == 4
        assert colours[-1] == line_style("PLI", [])["color"]


def test_a_floor_below_zero_is_left_out_of_a_logarithmic_axis():
    floors = {1: 0.01, 2: -0.01, 5: 0.02}
    axes = panel([row(n, 1.0, floor=value) for n, value in floors.items()], ["PLI-MMD"])
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), [0.01, np.nan, 0.02])


@pytest.mark.parametrize(("worst", "scale"), [(-50.0, "linear"), (-1e6, "symlog")])
def test_densities_over_many_decades_do_not_hide_each_other(worst, scale):
    rows = [row(n, mean, metric="log density of truth") for n, mean in ((1, worst), (2, 5.0))]
    axes = panel(rows, ["PLI-MMD"])
    assert axes.get_yscale() == scale
    low, high = axes.get_ylim()
    assert low < -5.0 < -worst < high
