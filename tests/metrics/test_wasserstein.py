import sys

import numpy as np
import pytest

from pliant.metrics import wasserstein
from pliant.metrics.wasserstein import (
    entropic_squared_wasserstein,
    exact_squared_wasserstein,
    squared_wasserstein,
)
from pliant.problem.samples import thinned


def test_one_dimension_is_the_distance_of_sorted_samples(rng):
    x, y = rng.normal(size=(200, 1)), 3 + 2 * rng.normal(size=(200, 1))
    expected = np.mean((np.sort(x, axis=0) - np.sort(y, axis=0)) ** 2)
    assert squared_wasserstein(x, y) == pytest.approx(expected, rel=1e-9)


def test_gaussians_have_a_closed_form(rng):
    """|m - n|^2 + sum (s - t)^2; samples of 1500 points in two dimensions add about 0.02."""
    x, y = rng.normal(size=(1500, 2)), rng.normal(size=(1500, 2)) * [2, 0.5] + [1, -1]
    assert squared_wasserstein(x, y) == pytest.approx(2 + 1 + 0.25, abs=0.2)


def test_a_shift_costs_its_square(rng):
    x = rng.normal(size=(300, 4)) + 1000
    y = x + np.array([3, 0, 4, 0])
    assert squared_wasserstein(x, y) == pytest.approx(25, rel=1e-9)
    assert entropic_squared_wasserstein(x, y) == pytest.approx(25, rel=1e-5)


def test_a_point_is_reached_in_one_way(rng):
    x, y = rng.normal(size=(300, 2)), np.ones((200, 2))
    expected = np.square(x - 1).sum(axis=1).mean()
    # a plan from x to itself still has a blur, of 0.25 % of the mean squared distance
    assert entropic_squared_wasserstein(x, y) == pytest.approx(expected, rel=3e-3)
    assert entropic_squared_wasserstein(x[:1] - 1, y[:3]) == pytest.approx(
        np.square(x[0] - 2).sum(), rel=1e-6
    )


@pytest.mark.parametrize("d", [2, 5, 10])
def test_entropic_plans_cost_almost_what_exact_ones_do(rng, d):
    """Even at the noise floor, where the blur of a plan would weigh the most."""
    x, y = rng.normal(size=(2, 1000, d))
    exact = exact_squared_wasserstein(x, y)
    assert entropic_squared_wasserstein(x, y) == pytest.approx(exact, rel=0.1)


def test_large_samples_are_entropic_and_thinned(rng, monkeypatch):
    x, y = rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) + 1
    monkeypatch.setattr(wasserstein, "MOST_EXACT", 250)
    assert squared_wasserstein(x, y) == pytest.approx(entropic_squared_wasserstein(x, y), rel=1e-9)
    monkeypatch.setattr(wasserstein, "MOST_POINTS", 100)
    assert squared_wasserstein(x, y) == pytest.approx(
        entropic_squared_wasserstein(x[::3], y[::2]), rel=1e-3
    )


def test_thinning_is_even():
    x = np.arange(10.0)[:, None]
    assert thinned(x, 5)[:, 0].tolist() == [0, 2, 4, 6, 8]
    assert thinned(x, 4)[:, 0].tolist() == [0, 2, 5, 7]
    assert thinned(x, 10) is x


def test_a_missing_library_is_named(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[bench\]'"):
        squared_wasserstein(rng.normal(size=(5, 1)), rng.normal(size=(5, 1)))
