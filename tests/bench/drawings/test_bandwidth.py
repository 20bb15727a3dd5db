import numpy as np

from pliant.bench.drawings.bandwidth import draw_bandwidth


def test_bandwidths_are_those_of_the_histories(results):
    (axes,) = draw_bandwidth(results).axes
    runs = [run for run in results.runs if run.experiment == "epsilon"]
    for line, run in zip(axes.lines, runs, strict=True):
        np.testing.assert_allclose(line.get_ydata(), results.history(run)["bandwidth"])
        assert line.get_label() == f"{run.varied['epsilon']:g}"
