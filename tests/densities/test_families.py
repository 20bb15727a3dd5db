"""One table of families drives the contract tests; the rest compares with exact answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.gaussian import Gaussian, GaussianDensity, gaussian_kl
from pliant.densities.mixture import GaussianMixture
from pliant.densities.reverse import reverse_project
from pliant.densities.spline_flow import SplineFlow
from pliant.densities.training import Training

pytestmark = pytest.mark.training

FAMILIES = {
    "gaussian": Gaussian(),
    "mixture": GaussianMixture(components=4),
    "flow": SplineFlow(training=Training(steps=300)),
}
CENTRES = jnp.array([[1.5, 1.5], [1.5, -1.5], [-1.5, 1.5], [-1.5, -1.5]])
K = 4000
SIDE = 12 * 24  # of grids, which share what is compiled for them


@pytest.fixture(params=FAMILIES, scope="module")
def family(request):
    return FAMILIES[request.param]


@pytest.fixture(params=FAMILIES)
def small_family(request):
    """For targets that need no more: large flows take long to compile."""
    if request.param == "flow":
        training = Training(steps=300)
        return SplineFlow(
            layers=2, width=16, training=training, reverse_training=Training(steps=50)
        )
    return FAMILIES[request.param]


@pytest.fixture(scope="module")
def four_modes():
    """Samples of N(0, 2^2), weighted to the mixture of four Gaussians of width 0.3."""
    z = 2 * jax.random.normal(jax.random.key(0), (K, 2))
    squared = jnp.sum((z[:, None] - CENTRES[None]) ** 2, axis=-1)
    log_target = jax.nn.logsumexp(-squared / (2 * 0.3**2), axis=1)
    return z, log_target + jnp.sum(z**2, axis=1) / 8


@pytest.fixture(scope="module")
def fit(family, four_modes):
    """The fitted density, and what the family tells about it."""
    return family.fit(jax.random.key(1), *four_modes, None)


@pytest.fixture(scope="module")
def fitted(fit):
    return fit[0]


def test_density_integrates_to_one(fitted):
    grid = jnp.linspace(-8, 8, SIDE)
    points = jnp.stack(jnp.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    cell = float(grid[1] - grid[0]) ** 2
    # the grid error of a density with features of width 0.3 on cells of 0.06
    assert float(jnp.exp(fitted.log_prob(points)).sum()) * cell == pytest.approx(1, abs=2e-3)


def test_density_agrees_with_its_samples(fitted):
    """The share of samples in each cell is the density's integral over it."""
    samples = np.asarray(fitted.sample(jax.random.key(2), 20_000))
    edges = np.linspace(-6, 6, 13)
    counts, _, _ = np.histogram2d(samples[:, 0], samples[:, 1], bins=[edges, edges])
    fine = np.linspace(-6, 6, SIDE + 1)[:-1] + 6 / SIDE
    points = jnp.asarray(np.stack(np.meshgrid(fine, fine, indexing="ij"), -1).reshape(-1, 2))
    density = np.exp(np.asarray(fitted.log_prob(points))).reshape(12, 24, 12, 24)
    expected = density.sum(axis=(1, 3)) * (12 / SIDE) ** 2 * 20_000
    big = expected > 20
    chi2 = np.sum((counts[big] - expected[big]) ** 2 / expected[big]) / big.sum()
    assert chi2 < 1.8  # one on average; 1.8 is beyond the 0.999 quantile for 30 cells and more


def test_a_stretched_density_is_wider_around_each_centre(fitted):
    z, wide = (q.sample(jax.random.key(5), 20_000) for q in (fitted, fitted.stretched(1.5)))
    centres = np.asarray(z - (wide - z) / 0.5)
    distinct = np.unique(np.round(centres, 2), axis=0)
    assert len(distinct) <= 16  # of four components, each rounded to either side in both places
    # With weights q / q', draws of q' have the total and the moments of q.
    ratio = np.exp(np.asarray(fitted.log_prob(wide) - fitted.stretched(1.5).log_prob(wide)))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / np.sqrt(len(ratio)))
    np.testing.assert_allclose(ratio @ np.asarray(wide) ** 2 / len(z), (z**2).mean(0), rtol=0.05)


def test_quadrants_and_moments(family, fitted, four_modes):
    """A Gaussian keeps the moments, the others find the four modes."""
    samples = np.asarray(fitted.sample(jax.random.key(3), 20_000))
    weights = np.asarray(jax.nn.softmax(four_modes[1]))
    mean = weights @ np.asarray(four_modes[0])
    sd = np.sqrt(weights @ (np.asarray(four_modes[0]) - mean) ** 2)
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.08)
    np.testing.assert_allclose(samples.std(0), sd, rtol=0.06)
    if isinstance(family, Gaussian):
        return
    distance = np.min(np.linalg.norm(samples[:, None] - np.asarray(CENTRES), axis=-1), axis=1)
    # the share of a 2-d Gaussian within three widths is 0.989; a flow leaks between modes
    assert np.mean(distance < 0.9) > 0.9


def test_a_weight_of_zero_drops_a_sample(small_family, four_modes):
    z, log_weights = four_modes
    far = jnp.full((10, 2), 50.0)
    dropped = jnp.full(10, -jnp.inf)
    density, _ = small_family.fit(
        jax.random.key(1), jnp.concatenate([z, far]), jnp.concatenate([log_weights, dropped]), None
    )
    assert float(jnp.abs(density.sample(jax.random.key(2), 5000)).max()) < 20


@pytest.mark.parametrize("dim", [1, 10])
def test_one_dimension_and_ten(small_family, dim):
    """A correlated Gaussian in any dimension: mean and covariance are met."""
    rng = np.random.default_rng(dim)
    factor = np.tril(rng.normal(size=(dim, dim)) / 3) + np.eye(dim)
    z = jnp.asarray(5 + rng.normal(size=(2000, dim)) @ factor.T, jnp.float32)
    density, _ = small_family.fit(jax.random.key(0), z, jnp.zeros(2000), None)
    samples = np.asarray(density.sample(jax.random.key(1), 5000))
    scale = np.sqrt(np.diag(factor @ factor.T))
    np.testing.assert_allclose(samples.mean(0) / scale, np.mean(z, 0) / scale, atol=0.15)
    np.testing.assert_allclose(samples.std(0), np.std(z, 0), rtol=0.15)


@pytest.mark.parametrize("family", ["flow"], indirect=True)
def test_warm_start_is_no_worse(family, fit, four_modes):
    first, info = fit
    _, again = family.fit(jax.random.key(1), *four_modes, first)
    assert float(again["held_out"]) <= float(info["held_out"]) + 1e-3


def test_mixture_does_not_collapse_onto_repeated_samples():
    z = jnp.concatenate([jnp.zeros((200, 2)), jax.random.normal(jax.random.key(0), (200, 2))])
    density, _ = GaussianMixture(components=6).fit(jax.random.key(0), z, jnp.zeros(400), None)
    widths = jnp.exp(density.components.log_diagonal)
    assert float(widths.min()) > 1e-2
    assert bool(jnp.all(jnp.isfinite(density.log_prob(z))))


def test_gaussian_with_fewer_samples_than_dimensions():
    z = jax.random.normal(jax.random.key(0), (6, 10))
    density, _ = Gaussian().fit(jax.random.key(0), z, jnp.zeros(6), None)
    assert bool(jnp.all(jnp.isfinite(density.log_prob(z))))


def test_gaussian_kl_against_samples():
    q = GaussianDensity(jnp.array([1.0, 0.0]), jnp.array([0.1, -0.3]), 0.4 * jnp.ones((2, 2)))
    p = GaussianDensity(jnp.array([0.0, 0.5]), jnp.array([0.4, 0.2]), -0.2 * jnp.ones((2, 2)))
    z = q.sample(jax.random.key(0), 200_000)
    sampled = float(jnp.mean(q.log_prob(z) - p.log_prob(z)))
    # the standard error of the mean is about 1.5 / sqrt(200,000)
    assert float(gaussian_kl(q, p)) == pytest.approx(sampled, abs=0.015)


def test_i_projection_finds_a_gaussian_target(small_family):
    """Both projections of a target that lies in the family are the target itself."""
    proposal = GaussianDensity(jnp.zeros(2), jnp.zeros(2), jnp.zeros((2, 2)))
    z = proposal.sample(jax.random.key(0), 5000)
    # N(0, 1) times this weight is N(0.4, 0.7^2) in each coordinate
    log_weights = jnp.sum(-((z - 0.4) ** 2) / (2 * 0.49) + z**2 / 2, axis=1)
    density, _ = reverse_project(jax.random.key(1), small_family, z, log_weights, proposal, None)
    samples = np.asarray(density.sample(jax.random.key(2), 20_000))
    # the importance estimate from 5000 samples carries about 0.03 of noise
    np.testing.assert_allclose(samples.mean(0), 0.4, atol=0.08)
    np.testing.assert_allclose(samples.std(0), 0.7, rtol=0.12)


def test_i_projection_seeks_a_mode_where_the_m_projection_covers_both():
    """KL(q || target) is small inside one mode, KL(target || q) only if q covers both."""
    proposal = GaussianDensity(jnp.zeros(1), jnp.log(jnp.full(1, 2.0)), jnp.zeros((1, 1)))
    z = proposal.sample(jax.random.key(0), 20_000)
    modes = jnp.logaddexp(-((z[:, 0] - 3) ** 2) / 0.5, -((z[:, 0] + 1.5) ** 2) / 0.5 + 1.5)
    log_weights = modes - proposal.log_prob(z)
    forward, _ = Gaussian().fit(jax.random.key(1), z, log_weights, None)
    reverse, _ = reverse_project(jax.random.key(1), Gaussian(), z, log_weights, proposal, None)
    assert isinstance(reverse, GaussianDensity)
    assert float(jnp.exp(reverse.log_diagonal[0])) < 0.7 * float(jnp.exp(forward.log_diagonal[0]))
