import numpy as np
import pytest

import pliant
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.metrics.mmd import squared_mmd


def by_loops(x, y):
    """The U-statistic, pair by pair."""

    def k(a, b):
        return sum(np.exp(-np.sum((a - b) ** 2) / (2 * scale)) for scale in PAPER_LENGTHSCALES)

    n, m = len(x), len(y)
    within_x = sum(k(x[i], x[j]) for i in range(n) for j in range(n) if i != j)
    within_y = sum(k(y[i], y[j]) for i in range(m) for j in range(m) if i != j)
    across = sum(k(a, b) for a in x for b in y)
    return within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - 2 * across / (n * m)


def test_equals_a_double_loop(rng):
    x, y = rng.normal(size=(21, 3)), 2 * rng.normal(size=(17, 3)) + 1
    assert squared_mmd(x, y) == pytest.approx(by_loops(x, y), rel=1e-12)


def test_blocks_change_nothing(rng, monkeypatch):
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(33, 2)) + 0.5
    whole = squared_mmd(x, y)
    monkeypatch.setattr("pliant.metrics.mmd._BLOCK", 7)
    assert squared_mmd(x, y) == pytest.approx(whole, rel=1e-12)


def test_narrow_samples_far_from_the_origin_are_resolved(rng):
    """To first order MMD^2 is |shift|^2 sum_l 1/l, here 1e-8 of the kernel's value."""
    shift = 3e-4
    x = 100 + 1e-5 * rng.normal(size=(300, 2))
    expected = shift**2 * sum(1 / scale for scale in PAPER_LENGTHSCALES)
    y = 100 + 1e-5 * rng.normal(size=(300, 2)) + [shift, 0]
    # the means of 300 draws are off by less than 1e-5 / sqrt(300) each, 0.4 % of the shift
    assert squared_mmd(x, y) == pytest.approx(expected, rel=0.02)


def test_agrees_with_the_discrepancy(rng):
    import jax

    x, y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    mmd = pliant.MMD(lengthscales=PAPER_LENGTHSCALES)
    state = mmd.prepare(jax.numpy.asarray(y))
    ok = np.ones((1, 50), bool)
    distances, _ = mmd.measure(state, jax.numpy.asarray(x[None]), ok)
    assert squared_mmd(x, y) == pytest.approx(float(distances[0]), rel=1e-4)  # single precision


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (np.zeros((1, 2)), np.zeros((5, 2)), r"x: expected the shape \(n, d\) with n of at least"),
        (np.zeros((5, 2)), np.zeros((5, 3)), "y: expected 2 columns"),
        (np.zeros(5), np.zeros((5, 1)), r"got \(5,\)"),
        (np.zeros((5, 2)), np.full((5, 2), np.nan), "y: expected finite numbers"),
    ],
)
def test_wrong_samples_are_refused(x, y, says):
    with pytest.raises(ValueError, match=says):
        squared_mmd(x, y)
