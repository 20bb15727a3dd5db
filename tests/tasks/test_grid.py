import numpy as np
import pytest

from pliant.tasks import grid
from pliant.tasks.grid import sample_grid

LOWER, UPPER = np.array([-8.0, -8.0]), np.array([8.0, 8.0])


def draw(log_density, n=20_000, lower=LOWER, upper=UPPER):
    return sample_grid(log_density, lower, upper, n=n, rng=np.random.default_rng(0))


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-5])
def test_narrow_correlated_gaussian(scale):
    """At 1e-5 the bulk is 50,000 times narrower than a cell of the first grid."""
    covariance = scale**2 * np.array([[1.0, 0.99], [0.99, 1.0]])
    mean, precision = np.array([0.123, -0.456]), np.linalg.inv(covariance)
    theta = draw(lambda t: -0.5 * np.einsum("mi,ij,mj->m", t - mean, precision, t - mean))
    white = np.linalg.solve(np.linalg.cholesky(covariance), (theta - mean).T)
    # standard errors 0.007 for means and 0.01 for second moments
    np.testing.assert_allclose(white.mean(axis=1), 0.0, atol=0.03)
    np.testing.assert_allclose(white @ white.T / len(theta), np.eye(2), atol=0.045)
    np.testing.assert_allclose(np.mean(white**4, axis=1), 3.0, atol=0.35)  # error 0.07


def test_distant_modes_keep_their_weights():
    centres, weights = np.array([[-5.0, -5.0], [4.0, 6.0]]), np.array([0.2, 0.8])

    def log_density(theta):
        square = np.sum((theta[:, None] - centres) ** 2, axis=2)
        return np.log(np.exp(-0.5 * square / 0.3**2) @ weights + 1e-300)

    theta = draw(log_density)
    assert np.mean(theta[:, 0] < 0) == pytest.approx(0.2, abs=0.012)  # standard error 0.003


def test_rectangle_cuts_the_density():
    theta = draw(lambda t: -t[:, 0] - 0.0 * t[:, 1], lower=np.zeros(2), upper=np.array([50.0, 1.0]))
    assert theta.min() >= 0
    assert theta[:, 1].max() <= 1
    assert theta[:, 0].mean() == pytest.approx(1.0, abs=0.035)  # exponential: error 0.007
    assert theta[:, 1].mean() == pytest.approx(0.5, abs=0.01)


def test_densities_that_the_grid_cannot_see_are_errors(monkeypatch):
    ripple = 2 * np.pi * 64 / 16  # one period between two points of the first grid
    with pytest.raises(RuntimeError, match="not smooth"):
        draw(lambda t: 5 * np.sin(ripple * t[:, 0]) - 1e-3 * t[:, 1])
    monkeypatch.setattr(grid, "_MOST_LEVELS", 3)
    with pytest.raises(RuntimeError, match="still varies"):
        draw(lambda t: -1e8 * np.sum(t**2, axis=1))


def test_region_cuts_the_density():
    """Half of a Gaussian: its mean is ``sqrt(2 / pi)`` along the normal of the cut."""
    theta = sample_grid(
        lambda t: -0.5 * np.sum(t**2, axis=1),
        LOWER,
        UPPER,
        n=20_000,
        rng=np.random.default_rng(0),
        inside=lambda t: t[:, 0] + t[:, 1] > 0,
    )
    along, across = theta.sum(axis=1) / 2**0.5, (theta[:, 0] - theta[:, 1]) / 2**0.5
    assert along.min() > 0
    assert along.mean() == pytest.approx((2 / np.pi) ** 0.5, abs=0.02)  # standard error 0.0043
    assert across.mean() == pytest.approx(0.0, abs=0.03)  # standard error 0.007
    assert across.std() == pytest.approx(1.0, abs=0.022)  # standard error 0.005
