import numpy as np
import pytest

from pliant.plots.pair_panels import Panel, plot_pair_panels

RNG = np.random.default_rng(0)
NARROW = {"a": RNG.normal(1, 0.1, 300), "b": RNG.normal(size=300)}
WIDE = {"a": RNG.normal(1, 1.0, 300), "b": RNG.normal(size=300)}


def test_all_posteriors_share_their_axes_and_mark_the_truth():
    panels = [Panel("narrow", NARROW, "#0072B2"), Panel("wide", WIDE, "#D55E00")]
    figure = plot_pair_panels(panels, truth={"b": 0.0, "a": 5.0}, title="both")
    first, second = figure.subfigs
    assert [part.get_suptitle() for part in (first, second)] == ["narrow", "wide"]
    assert len(first.axes) == len(second.axes) == 3  # two marginals, one pair
    for ours, theirs in zip(first.axes, second.axes, strict=True):
        assert ours.get_xlim() == theirs.get_xlim()
    low, high = first.axes[0].get_xlim()
    assert low < np.quantile(WIDE["a"], 0.005)
    assert high > 5.0
    marks = [line.get_xdata()[0] for line in first.axes[0].lines if line.get_linestyle() == ":"]
    assert marks == [5.0]  # by its name, in whatever order


def test_other_parameters_are_a_mistake():
    panels = [Panel("one", NARROW, "#0072B2"), Panel("two", {"a": NARROW["a"]}, "#D55E00")]
    with pytest.raises(ValueError, match=r"two: expected the columns \['a', 'b'\], got \['a'\]"):
        plot_pair_panels(panels)
    with pytest.raises(ValueError, match=r"truth: expected the parameters \['a', 'b'\], got"):
        plot_pair_panels(panels[:1], truth={"a": 1.0})


def test_labels_can_be_written_as_symbols():
    figure = plot_pair_panels([Panel("one", NARROW, "#0072B2")], symbol=str.upper)
    labels = {axes.get_xlabel() for axes in figure.subfigs[0].axes} - {""}
    assert labels == {"A", "B"}
