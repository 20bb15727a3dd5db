import numpy as np

from pliant.bench.drawings.bandwidth import draw_bandwidth


def test_lines_are_one_plus_eta_of_the_histories(results):
    figure = draw_bandwidth(results)
    (axes,) = figure.axes
    runs = [run for run in results.runs if run.experiment == "epsilon"]
    for line, run in zip(axes.lines, runs, strict=False):
        np.testing.assert_allclose(line.get_ydata(), 1 + results.history(run)["eta"])
        assert line.get_label() == f"{run.varied['epsilon']:g}"
    assert len(axes.lines) == len(runs) + 1  # and the target
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", r"$1 + \eta_t$")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["0.5", "1"]


def test_the_axis_on_the_right_has_the_bandwidths(results):
    figure = draw_bandwidth(results)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (right,) = axes.child_axes
    beta = results.history(results.runs[-1])["beta"][0]
    np.testing.assert_allclose(right.get_ylim(), np.array(axes.get_ylim()) * beta)
    assert "bandwidth" in right.get_ylabel()
