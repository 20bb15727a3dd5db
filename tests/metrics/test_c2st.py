import sys

import numpy as np
import pytest
from scipy.stats import norm

from pliant.metrics.c2st import c2st


def test_a_half_for_one_distribution(rng):
    x, y = rng.normal(size=(2, 400, 2))
    assert c2st(x, y) == pytest.approx(0.5, abs=0.06)  # 3 standard errors of 800 guesses


def test_shifted_gaussians_have_a_known_best_accuracy(rng):
    """No classifier does better than Phi(shift / 2) on average, whatever the units."""
    shift = 2.0
    x, y = rng.normal(size=(2, 500, 2))
    y[:, 0] += shift
    units = np.array([1e-3, 1e3])
    accuracy = c2st(x * units, y * units)
    assert accuracy == pytest.approx(norm.cdf(shift / 2), abs=0.035)  # 3 standard errors
    assert accuracy == pytest.approx(c2st(x, y), abs=0.01)


def test_the_seed_decides(rng):
    x, y = rng.normal(size=(2, 60, 1))
    assert c2st(x, y, seed=1) == c2st(x, y, seed=1)


def test_constant_columns_and_separate_samples(rng):
    x, y = rng.normal(size=(2, 60, 1)) * 0.1
    constant = np.ones((60, 1))
    assert c2st(np.hstack([x, constant]), np.hstack([y + 5, constant])) == 1.0


def test_different_sizes_are_refused(rng):
    with pytest.raises(ValueError, match="y: expected 50 points, as many as x has, got 60"):
        c2st(rng.normal(size=(50, 1)), rng.normal(size=(60, 1)))


def test_a_missing_library_is_named(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.model_selection", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[bench\]'"):
        c2st(rng.normal(size=(50, 1)), rng.normal(size=(50, 1)))
