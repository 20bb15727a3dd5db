from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant.bench.drawings.bandwidth import draw_bandwidth
from pliant.bench.drawings.metrics import draw_all, draw_main
from pliant.bench.drawings.partition import draw_spearman
from pliant.bench.drawings.style import line_style
from pliant.bench.figures import FIGURES
from pliant.bench.results import GridResults
from pliant.cli import app
from pliant.cli.grid import parse_grid

GRID = """
[methods.PLI-MMD]
method = "pli"
[methods.PMC-ABC-MMD]
method = "pmc-abc"
[methods.APT]
method = "apt"

[[experiment]]
name = "accuracy"
tasks = "gaussian_location"
n_obs = [2, 100]
seeds = [0, 1]
methods = ["PLI-MMD", "PMC-ABC-MMD", "APT"]

[[experiment]]
name = "accuracy"
tasks = "furuta"
n_obs = [5, 10]
seeds = [0, 1]
methods = ["PLI-MMD", "APT"]

[[experiment]]
name = "epsilon"
tasks = "gaussian_location"
n_obs = 100
seeds = 0
methods = "PLI-MMD"
options = { epsilon = [0.5, 1.0] }

[[experiment]]
name = "snapshots"
tasks = "furuta"
n_obs = 100
seeds = 0
methods = "PLI-MMD"
snapshots = 50

[[experiment]]
name = "partition"
tasks = "gaussian_location"
n_obs = [2, 100]
seeds = 0
methods = "PLI-MMD"
options = { partition = [0, 5] }
snapshots = 50
"""
WANTED = {"slcp_n2", "slcp_n100", "furuta_n2", "furuta_n100"}  # what this grid has no runs for


@pytest.fixture(scope="module")
def folder(tmp_path_factory, make_up):
    out = tmp_path_factory.mktemp("made_up")
    grid = parse_grid(GRID, "grid.toml")
    make_up(out, grid)
    return out, grid


@pytest.fixture(scope="module")
def results(folder):
    return GridResults(*folder)


def test_every_figure_is_drawn_in_both_formats_or_says_what_it_wants(folder):
    out, _ = folder
    result = CliRunner().invoke(app, ["bench", "figures", str(out)])
    assert result.exit_code == 0, result.output
    lines = dict(line.split(": ", 1) for line in result.output.splitlines())
    assert set(lines) == set(FIGURES)
    assert {name for name, line in lines.items() if line.startswith("skipped")} == WANTED
    assert "PLI-MMD, APT, PMC-ABC-MMD on slcp with N = 2" in lines["slcp_n2"]
    for name in set(FIGURES) - WANTED:
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


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


def test_bandwidths_are_those_of_the_histories(results):
    (axes,) = draw_bandwidth(results).axes
    runs = [run for run in results.runs if run.experiment == "epsilon"]
    for line, run in zip(axes.lines, runs, strict=True):
        np.testing.assert_allclose(line.get_ydata(), results.history(run)["bandwidth"])
        assert line.get_label() == f"{run.varied['epsilon']:g}"


def test_rank_correlations_are_drawn_for_every_number_of_observations(results):
    (axes,) = draw_spearman(results).axes
    assert len(axes.lines) == 2
    assert len({line.get_linestyle() for line in axes.lines}) == 2


def test_colours_of_methods_that_pliant_does_not_know_differ():
    mine = ["mine", "PLI-MMD", "yours"]
    assert len({line_style(method, mine)["color"] for method in mine}) == 3
