from typing import Any

import numpy as np

from pliant.bench.drawings.metrics import draw_all, draw_main
from pliant.bench.drawings.style import line_style


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
