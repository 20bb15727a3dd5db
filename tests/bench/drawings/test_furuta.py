import copy

import pytest

from pliant.bench.drawings.furuta import draw_furuta
from pliant.bench.results import MissingRunsError


def test_rounds_are_spread_out_from_the_first_to_the_last(results, monkeypatch):
    def draw_motion(axes, task, samples, colour):  # without its simulations
        axes.plot(samples["g"])
        axes.set_xlabel("motion")

    monkeypatch.setattr("pliant.bench.drawings.furuta._draw_motion", draw_motion)
    figure = draw_furuta(results)
    *planes, errors = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in planes] == ["round 1", "round 3", "round 4", "round 6"]
    assert errors.get_title() == "mean accumulated error"
    assert len(errors.lines) >= 2  # PLI-MMD and APT
    motions = [axes for axes in figure.axes if axes.get_xlabel() == "motion"]
    assert len(motions) == 4
    assert len({axes.get_ylim() for axes in motions}) == 1


def test_without_snapshots_the_missing_experiment_is_named(results):
    some = copy.copy(results)
    some.runs = [run for run in results.runs if run.experiment != "snapshots"]
    with pytest.raises(MissingRunsError, match='"snapshots" on furuta'):
        draw_furuta(some)
