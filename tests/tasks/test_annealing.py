import numpy as np
import pytest
from scipy import special

from pliant.tasks import annealing
from pliant.tasks.annealing import sample_annealed


def draw(log_likelihood, dim, n=20_000):
    return sample_annealed(log_likelihood, dim, n=n, rng=np.random.default_rng(0))


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-5])
def test_narrow_correlated_gaussian(scale):
    """A likelihood ``N(z | m, S)``: the posterior has precision ``1 + S^-1``."""
    noise = scale**2 * (0.9 * np.ones((4, 4)) + 0.1 * np.eye(4))
    place, precision = np.array([2.5, -1.0, 0.0, 3.0]), np.linalg.inv(noise)
    z = draw(lambda z: -0.5 * np.einsum("mi,ij,mj->m", z - place, precision, z - place), 4)
    covariance = np.linalg.inv(np.eye(4) + precision)
    mean = covariance @ precision @ place
    white = np.linalg.solve(np.linalg.cholesky(covariance), (z - mean).T)
    # standard errors 0.007 for means and 0.01 for second moments
    np.testing.assert_allclose(white.mean(axis=1), 0.0, atol=0.03)
    np.testing.assert_allclose(white @ white.T / len(z), np.eye(4), atol=0.045)
    np.testing.assert_allclose(np.mean(white**4, axis=1), 3.0, atol=0.35)  # error 0.07


def banana(z):
    return -0.5 * ((z[:, 1] - z[:, 0] ** 2) / 0.2) ** 2


def assert_banana(z):
    """Moments by the midpoint rule."""
    axis = np.linspace(-8, 8, 1601)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    log_f = banana(grid) - np.sum(grid**2, axis=1) / 2
    w = np.exp(log_f - special.logsumexp(log_f))
    for f in (lambda z: z, lambda z: z**2, lambda z: z**3, lambda z: z[:, :1] ** 2 * z[:, 1:]):
        values = f(z)
        error = values.std(axis=0) / len(z) ** 0.5
        np.testing.assert_array_less(np.abs(values.mean(axis=0) - w @ f(grid)), 4 * error)


def test_a_shape_that_the_proposal_cannot_have():
    assert_banana(draw(banana, 2))


def test_a_bound_that_is_too_low_is_raised(monkeypatch):
    bounds = []

    def propose(log_likelihood, proposal, bound, rng, m):
        bounds.append(bound)
        return original(log_likelihood, proposal, bound, rng, m)

    def too_low(*args):
        proposal, bound = anneal(*args)
        return proposal, bound - 3.0

    original, anneal = annealing._propose, annealing._anneal
    monkeypatch.setattr(annealing, "_propose", propose)
    monkeypatch.setattr(annealing, "_anneal", too_low)
    z = draw(banana, 2)
    assert max(bounds) > bounds[0] + 2.0
    assert_banana(z)


def two_modes(z, apart, width):
    left, right = (-0.5 * np.sum((z - c) ** 2, axis=1) / width**2 for c in (-apart, apart))
    return np.logaddexp(np.log(0.2) + left, np.log(0.8) + right)


def test_two_modes_keep_their_weights():
    """Three deviations from the middle: the prior is symmetric, so the weights are those of L."""
    z = draw(lambda z: two_modes(z, 1.0, 0.33), 2)
    assert np.mean(z.sum(axis=1) < 0) == pytest.approx(0.2, abs=0.012)  # standard error 0.003


def test_narrow_modes_far_apart_are_an_error():
    """One t distribution cannot propose them well. None of them is dropped in silence."""
    with pytest.raises(RuntimeError, match="too far from a t distribution"):
        draw(lambda z: two_modes(z, 1.5, 0.03), 2)


def test_failures_are_errors(monkeypatch):
    monkeypatch.setattr(annealing, "_MOST_BOUNDS", 0)
    with pytest.raises(RuntimeError, match="no bound"):
        draw(banana, 2)
    monkeypatch.setattr(annealing, "_MOST_STEPS", 2)
    with pytest.raises(RuntimeError, match="too far"):
        draw(lambda z: -1e8 * np.sum(z**2, axis=1), 2)
