"""Densities in the user's own space: normalised, true to their samples, on the support."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.densities.gaussian import Gaussian, GaussianDensity
from pliant.densities.mixture import GaussianMixture
from pliant.densities.spline_flow import SplineFlow
from pliant.densities.training import Training
from pliant.problem.prior import read_prior
from pliant.run.posterior import Posterior

FAMILIES = {
    "gaussian": Gaussian(),
    "mixture": GaussianMixture(components=3),
    "flow": SplineFlow(layers=2, width=16, training=Training(steps=100)),
}
PRIORS = {
    "bounded": {"x": dist.Uniform(-1, 3)},
    "positive": {"x": dist.LogNormal(0, 0.5)},
    "real": {"x": dist.Normal(2, 3)},
    "simplex": dist.Dirichlet(jnp.array([2.0, 3.0, 2.5])),
    "names": {"b": dist.Normal(0, 1), "a": dist.HalfNormal(1.0)},
    "mixed": {"x": dist.Uniform(-1, 3), "s": dist.LogNormal(0, 1)},
    "vector": {"v": dist.Normal(0, 1).expand([2]), "s": dist.Uniform(0, 1)},
}
GRIDS = {
    "bounded": np.linspace(-1, 3, 40_001),
    "positive": np.linspace(1e-4, 30, 40_001),
    "real": np.linspace(-40, 40, 40_001),
}


@functools.cache
def space_and_draws(prior):
    read = read_prior(PRIORS[prior])
    return read.space, read.sample(jax.random.key(0), 1500)


@functools.cache
def posterior_of(prior, family):
    """A posterior that is neither the prior nor symmetric, fitted to weighted prior draws."""
    space, z = space_and_draws(prior)
    density, _ = FAMILIES[family].fit(
        jax.random.key(1), z, 0.8 * z[:, 0] - 0.3 * z[:, 0] ** 2, None
    )
    return Posterior(space, density)


@pytest.mark.parametrize(
    ("support", "family"),
    [("bounded", "flow"), ("positive", "mixture"), ("real", "gaussian"), ("bounded", "gaussian")],
)
def test_one_dimension(support, family):
    grid, posterior = GRIDS[support], posterior_of(support, family)
    middle = (grid[1:] + grid[:-1]) / 2
    density = np.exp(posterior.log_prob({"x": middle}))
    step = grid[1] - grid[0]
    assert density.sum() * step == pytest.approx(1, abs=3e-3)  # the midpoint rule's error

    samples = posterior.sample(4000, seed=2)["x"]
    assert np.all(np.asarray(PRIORS[support]["x"].support(jnp.asarray(samples))))
    cdf = np.interp(np.sort(samples), middle, np.cumsum(density) * step)
    distance = np.abs(cdf - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 1.95 / np.sqrt(4000)  # Kolmogorov-Smirnov at the level 0.001


@pytest.mark.parametrize("family", ["gaussian", "flow"])
def test_simplex(family):
    """The density of a simplex is one of its first two coordinates, as numpyro's is."""
    posterior = posterior_of("simplex", family)
    samples = posterior.sample(3000)
    np.testing.assert_allclose(samples.sum(axis=1), 1, atol=1e-5)
    assert samples.min() > 0
    side = np.linspace(0, 1, 201)
    a, b = np.meshgrid((side[1:] + side[:-1]) / 2, (side[1:] + side[:-1]) / 2)
    inside = a + b < 1 - 1e-6
    points = np.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], axis=1)
    total = np.exp(posterior.log_prob(points.astype(np.float32))).sum() * (side[1] ** 2)
    assert total == pytest.approx(1, abs=0.02)  # cells on the diagonal count wholly or not at all


def test_outside_of_the_support_the_density_is_zero():
    posterior = posterior_of("bounded", "gaussian")
    values = posterior.log_prob({"x": np.array([-1.5, 0.0, 3.5])})
    assert list(np.isneginf(values)) == [True, False, True]


@pytest.mark.wrong_types
def test_batches_and_names():
    posterior = posterior_of("names", "gaussian")
    theta = posterior.sample(6)
    assert list(theta) == ["a", "b"] or list(theta) == ["b", "a"]
    one = posterior.log_prob({"a": float(theta["a"][0]), "b": float(theta["b"][0])})
    grid = posterior.log_prob({name: leaf.reshape(2, 3) for name, leaf in theta.items()})
    assert one.shape == ()
    assert grid.shape == (2, 3)
    assert grid[0, 0] == pytest.approx(float(one), rel=1e-5)
    with pytest.raises(TypeError, match="theta"):
        posterior.log_prob({"a": 1.0})
    with pytest.raises(ValueError, match="theta"):
        posterior.log_prob({"a": np.ones(3), "b": np.ones(4)})


def test_map_beats_every_sample():
    posterior = posterior_of("mixed", "flow")
    best = posterior.log_prob(posterior.map())
    assert best >= posterior.log_prob(posterior.sample(5000, seed=9)).max() - 1e-3


def test_summary_is_that_of_the_samples():
    posterior = posterior_of("vector", "gaussian")
    summary = posterior.summary(500, seed=3)
    samples = posterior.sample(500, seed=3)
    assert summary.names == ("v[0]", "v[1]", "s")
    columns = np.concatenate([samples["v"], samples["s"][:, None]], axis=1)
    np.testing.assert_allclose(summary.mean, columns.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(summary.q95, np.quantile(columns, 0.95, axis=0), rtol=1e-5)
    assert "v[1]" in str(summary)


def test_a_posterior_that_is_the_prior_says_so():
    prior = read_prior({"mu": dist.Normal(0, 1), "sigma": dist.LogNormal(0, 1)})
    posterior = Posterior(prior.space, prior)
    assert posterior.is_prior
    assert repr(posterior) == "Posterior(the prior over mu, sigma; no round gave a posterior)"
    summary = posterior.summary(100)
    assert summary.is_prior
    first, heads, *rows = str(summary).splitlines()
    assert first == "No round gave a posterior: this is the prior."
    assert heads.split()[:2] == ["mean", "sd"]
    assert [row.split()[0] for row in rows] == ["mu", "sigma"]
    other = posterior_of("real", "gaussian")
    assert not other.is_prior
    assert repr(other) == "Posterior(GaussianDensity over x)"
    assert "prior" not in str(other.summary(100))
    single = read_prior(dist.Normal(0, 1))
    assert repr(Posterior(single.space, single)).startswith(
        "Posterior(the prior over theta; no round"
    )


def test_to_arviz():
    idata = posterior_of("real", "gaussian").to_arviz(50)
    assert idata.posterior["x"].shape == (1, 50)


@pytest.mark.wrong_types
@pytest.mark.parametrize(("n", "seed", "name"), [(0, 0, "n"), (1.5, 0, "n"), (5, -1, "seed")])
def test_wrong_arguments_are_named(n, seed, name):
    posterior = posterior_of("real", "gaussian")
    with pytest.raises((TypeError, ValueError), match=name):
        posterior.sample(n, seed=seed)


def test_public_name():
    assert pliant.Posterior is Posterior


def normal_in_z(prior, sd):
    """A posterior that is normal in z, which costs no fit."""
    space = read_prior(prior).space
    dim = space.dim
    density = GaussianDensity(jnp.full(dim, 0.3), jnp.full(dim, np.log(sd)), jnp.zeros((dim, dim)))
    return Posterior(space, density)


def test_map_at_the_edge_of_a_support():
    """A normal that is wide in z has its highest density at both ends of an interval."""
    for sd in (2.0, 6.0):
        posterior = normal_in_z(dist.Uniform(0, 1), sd)
        best = posterior.log_prob(posterior.map())
        samples = posterior.log_prob(posterior.sample(5000, seed=9))
        assert np.all(np.isfinite(samples))
        # Float32 holds the density near the edge to 1e-7 of the interval over the distance to it.
        assert best >= samples.max() - 0.02


def test_odd_values_have_the_density_zero_or_one_that_is_finite():
    posterior = normal_in_z({"s": dist.HalfNormal(1.0), "u": dist.Uniform(1.0, 2.0)}, 0.5)
    s = np.array([1e300, np.nan, -1.0, np.inf, -np.inf, 1.0, 1.0])
    u = np.array([1.5, 1.5, 1.5, 1.5, 1.5, np.nan, 1e300])
    assert np.all(np.isneginf(posterior.log_prob({"s": s, "u": u})))
    edge = posterior.log_prob({"s": np.ones(2), "u": np.array([1.0, 2.0])})
    assert np.all(np.isfinite(edge))
    assert np.all(np.isfinite(posterior.log_prob({"s": [1, 2], "u": [1, 2]})))  # integers, lists


def test_one_seed_gives_one_sample():
    posterior = normal_in_z(dist.Normal(np.zeros(2), 1), 0.5)
    assert posterior.sample(4).shape == (4, 2)
    np.testing.assert_array_equal(posterior.sample(4, seed=3), posterior.sample(4, seed=3))
    assert not np.any(posterior.sample(4, seed=3) == posterior.sample(4, seed=4))
    with pytest.raises(ValueError, match="seed"):
        posterior.sample(4, seed=2**32)
    assert posterior.to_arviz(7).posterior["theta"].shape == (1, 7, 2)
