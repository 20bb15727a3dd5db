import numpy as np
import pytest

from pliant.plots.density import smooth_curve, smooth_surface

N = 4000


def four_modes(*, sd, seed):
    """The last two columns have narrow modes at +-0.95, all four pairs of signs equally likely."""
    rng = np.random.default_rng(seed)
    wide = 0.05 * rng.standard_normal((N, 3))
    narrow = (0.95 + sd * rng.standard_normal((N, 2))) * rng.choice([-1, 1], (N, 2))
    return np.concatenate([wide, narrow], axis=1)


def test_marginal_density_integrates_to_one_and_has_the_right_height():
    x, density = smooth_curve(np.random.default_rng(0).standard_normal(N), (-5, 5))
    assert np.sum(density) * (x[1] - x[0]) == pytest.approx(1, abs=1e-3)
    # the peak's sampling error is about 3 %, and smoothing lowers it by about 2 %
    assert density.max() == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.1)


def test_narrow_modes_are_neither_blurred_nor_lost():
    sd = 0.02
    x, density = smooth_curve(four_modes(sd=sd, seed=0)[:, 3], (-1.1, 1.1))
    step = x[1] - x[0]
    right = x > 0
    assert np.sum(density[right]) * step == pytest.approx(0.5, abs=0.03)
    mean = np.sum(x * density * right) / np.sum(density * right)
    spread = np.sqrt(np.sum((x - mean) ** 2 * density * right) / np.sum(density * right))
    assert mean == pytest.approx(0.95, abs=0.005)
    assert spread == pytest.approx(sd, rel=0.15)  # a global bandwidth would give ten times that


def test_regions_hold_the_share_that_they_claim():
    limits = ((-1.1, 1.1), (-1.1, 1.1))
    made, fresh = four_modes(sd=0.02, seed=1), four_modes(sd=0.02, seed=2)
    surface = smooth_surface(made[:, 3], made[:, 4], limits, (0.5, 0.9))
    columns = np.searchsorted(surface.x, fresh[:, 3]).clip(0, surface.x.size - 1)
    rows = np.searchsorted(surface.y, fresh[:, 4]).clip(0, surface.y.size - 1)
    density = surface.density[rows, columns]
    # smoothing widens the modes by about 15 %, so the regions hold somewhat more
    assert np.mean(density > surface.levels[0]) == pytest.approx(0.9, abs=0.06)
    assert np.mean(density > surface.levels[1]) == pytest.approx(0.5, abs=0.12)
    for sign in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        inside = (surface.x * sign[0] > 0)[None] & (surface.y * sign[1] > 0)[:, None]
        assert surface.density[inside].max() > surface.levels[1]


def test_particles_of_which_two_have_a_fifth_of_the_weight_are_smoothed():
    distinct = np.random.default_rng(0).normal(size=(200, 2))
    distinct[1] = distinct[0] + 1e-3
    repeated = np.concatenate([np.repeat(distinct[:2], 130, axis=0), np.tile(distinct, (4, 1))])
    plain, heavy = (
        smooth_surface(points[:, 0], points[:, 1], ((-5, 5), (-5, 5)), (0.9,))
        for points in (distinct, repeated)
    )
    area, other = (np.mean(s.density > s.levels[0]) for s in (plain, heavy))
    assert other > 0.3 * area  # not dust around the single points
