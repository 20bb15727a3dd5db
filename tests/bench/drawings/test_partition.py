import numpy as np
import pytest

from pliant.bench.drawings.partition import draw_spearman, draw_training
from pliant.metrics.mmd import squared_mmd
from pliant.metrics.wasserstein import squared_wasserstein
from pliant.tasks import get


def test_rank_correlations_are_drawn_for_every_number_of_observations(results):
    (axes,) = draw_spearman(results).axes
    (run, *_) = [r for r in results.runs if r.experiment == "partition" and r.varied["partition"]]
    *lines, zero = axes.lines
    assert len(lines) == 2
    assert len({line.get_linestyle() for line in lines}) == 2
    np.testing.assert_allclose(lines[0].get_ydata(), results.history(run)["spearman"])
    assert set(zero.get_ydata()) == {0.0}


def test_distances_are_those_of_the_snapshots_for_the_most_observations(results):
    runs = [run for run in results.runs if (run.experiment, run.n_obs) == ("partition", 100)]
    runs.sort(key=lambda run: -run.varied["partition"])  # with Z below, without it above
    exact = get("gaussian_location").reference(n_obs=100, seed=0, n=50)["theta"]
    figure = draw_training(results)
    for axes, distance in zip(figure.axes, (squared_mmd, squared_wasserstein), strict=True):
        for line, run in zip(axes.lines, runs, strict=True):
            assert list(line.get_xdata()) == [1, 2, 3, 4, 5, 6]
            last = distance(results.snapshots(run)[6]["theta"], exact)
            assert np.asarray(line.get_ydata())[-1] == pytest.approx(last)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["PLI-MMD", "with Z(θ)", "without Z(θ)"]
    assert figure.legends[0].get_title().get_text() == "N = 100"
    above, below = figure.axes
    assert above.get_ylabel() == "MMD²\nto the exact posterior"
    assert below.get_ylabel() == "Wasserstein²\nto the exact posterior"
