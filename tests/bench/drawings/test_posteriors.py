import copy

import numpy as np
import pytest

from pliant.bench.drawings.posteriors import METHODS, draw_pairs, draw_slices
from pliant.bench.results import MissingRunsError
from pliant.tasks import get


def test_slices_compare_the_methods_with_the_exact_posterior(results):
    figure = draw_slices(results)
    above, below = figure.axes[:4], figure.axes[4:]
    assert [axes.get_title() for axes in above] == ["exact", *METHODS]
    assert [line[0].get_ylabel() for line in (above, below)] == [
        f"N = {n}\n$\\theta_{{2}}$" for n in (2, 100)
    ]
    truth = np.asarray(get("gaussian_location").truth["theta"])
    for few, many in zip(above, below, strict=True):
        assert np.ptp(many.get_xlim()) < np.ptp(few.get_xlim())
        (x, _), (_, y) = (line.get_data() for line in few.lines)  # dotted, through the truth
        np.testing.assert_allclose([x[0], y[0]], truth[:2], rtol=1e-6)


def test_a_figure_needs_all_methods_with_one_seed(results):
    with pytest.raises(MissingRunsError, match="PLI-MMD, APT, PMC-ABC-MMD on slcp with N = 2 and"):
        draw_pairs(results, "slcp", 2)
    some = copy.copy(results)
    seeds = {"PLI-MMD": 0, "APT": 1, "PMC-ABC-MMD": 0}
    some.runs = [run for run in results.runs if run.seed == seeds[run.method]]
    with pytest.raises(MissingRunsError, match="on gaussian_location with N = 2 and one seed"):
        draw_slices(some)
