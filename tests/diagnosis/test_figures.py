"""The pictures show what the diagnosis says."""

import numpy as np
import pytest

import pliant
from known_posteriors import clean, known
from pliant.diagnosis.figures import rank_band, rank_lines


def test_uniform_ranks_stay_in_the_band():
    low, high = rank_band(100)
    grid = np.linspace(0, 1, 101)
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(1000):
        ecdf = np.searchsorted(np.sort(rng.random(100)), grid, side="right") / 100 - grid
        outside += np.any((ecdf < low - 1e-9) | (ecdf > high + 1e-9))
    assert outside <= 25  # 1 % of 1000, with the band's own error
    assert np.all(low <= 0)
    assert np.all(high >= 0)


def test_a_diagnosis_is_drawn():
    x = clean(n_obs=60)
    x[4] += 9.0
    case = known(x)
    found = pliant.diagnose(case.result, case.problem, progress=lambda text: None)
    figure = found.plot()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "Ranks of true parameters"
    assert len(titles) == 4
    texts = [text.get_text().strip() for text in figure.axes[2].texts]
    assert "4" in texts
    assert "doubtful" in figure.get_suptitle()


def test_panels_without_anything_say_so():
    case = known(likelihood=None)
    figure = pliant.diagnose(case.result, case.problem, progress=lambda text: None).plot()
    assert figure.axes[0].texts[0].get_text() == "does not apply"
    figure.canvas.draw()


def test_a_rank_of_zero_is_within_the_band():
    ranks = np.linspace(0.0, 1.0, 100)[:, None]
    (line,) = rank_lines(ranks)
    low, high = rank_band(100)
    assert line[0] == line[-1] == 0.0
    assert np.all((low - 1e-9 <= line) & (line <= high + 1e-9))
    assert line[50] == pytest.approx(0.0, abs=0.01)  # half of the ranks are below one half
