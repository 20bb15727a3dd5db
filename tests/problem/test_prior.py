"""One table of priors: each is a bijection with z, and its density in z is that of its draws."""

import functools
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints, transforms
from scipy import stats

from pliant.problem.prior import read_prior
from pliant.run.serialise import decode, encode

POINTS = 2048  # all batches have this size, so that each prior compiles its functions once


def ravel(theta: Any) -> jax.Array:
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(theta)])


class Entry(NamedTuple):
    """A prior, and what is special about it."""

    prior: Any
    free: Callable[[Any], jax.Array] = ravel
    """As many coordinates of theta as z has: the density is with respect to them."""
    grain: float = 0.0
    """The steps of z, if single precision leaves few values on the support."""


PRIORS = {
    "normal": Entry(dist.Normal(2.0, 3.0)),
    "lognormal": Entry(dist.LogNormal(0.5, 1.0)),
    "uniform": Entry(dist.Uniform(-1.0, 4.0)),
    "beta": Entry(dist.Beta(2.0, 5.0)),
    "simplex": Entry(dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])), lambda theta: theta[:-1]),
    "ordered": Entry(
        dist.TransformedDistribution(
            dist.Normal(jnp.zeros(3), 1).to_event(1), transforms.OrderedTransform()
        )
    ),
    "cholesky": Entry(dist.LKJCholesky(2, 2.0, "cvine"), lambda theta: theta[1, :1]),
    "multivariate": Entry(
        dist.MultivariateNormal(jnp.array([1.0, -1]), jnp.array([[2.0, 0.9], [0.9, 1.0]]))
    ),
    "truncated-below": Entry(dist.TruncatedNormal(0.0, 1.0, low=1.0)),
    "shifted": Entry(
        dist.TransformedDistribution(
            dist.LogNormal(0.0, 1.0),
            transforms.AffineTransform(-3.0, 2.0, domain=constraints.positive),
        )
    ),
    # 17 values, of which the 16 % quantile is 0.46 / 1.66 in z from its neighbours.
    "far": Entry(dist.Uniform(1e6, 1e6 + 1), grain=0.3),
    "cauchy": Entry(dist.Cauchy(0.0, 1.0)),
    "shapes": Entry(
        {
            "sigma": dist.HalfNormal(1.0),
            "mu": dist.Normal(jnp.array([100.0, -100.0]), 1.0),
            "event": dist.Normal(0.0, 1.0).expand([2, 2]).to_event(1),
            "batch": dist.LogNormal(jnp.zeros((2, 3)), 0.5),
            "bounds": dist.Uniform(jnp.array([-1.0, 0, 100]), jnp.array([1.0, 10, 101])),
            "alpha": dist.Uniform(5.0, 6.0),
        }
    ),
}
ONE_DIMENSIONAL = [
    "normal",
    "lognormal",
    "uniform",
    "beta",
    "truncated-below",
    "shifted",
    "far",
    "cauchy",
]


class Values(NamedTuple):
    """A batch of z, and everything that a prior makes of it."""

    z: np.ndarray
    theta: Any
    back: np.ndarray
    """z again, from theta."""
    log_det: np.ndarray
    log_prob: np.ndarray


@functools.cache
def prior(name: str) -> Any:
    return read_prior(PRIORS[name].prior)


@functools.cache
def evaluation(name: str) -> Callable:
    """All functions of a prior and its space, for one z."""
    found = prior(name)

    def evaluate(z: jax.Array) -> tuple[jax.Array, ...]:
        theta, log_det = found.space.constrain_with_log_det(z)
        # XLA would take unconstrain(constrain(z)) for z.
        back = found.space.unconstrain(jax.lax.optimization_barrier(theta))
        return theta, back, log_det, found.log_prob(z[None])[0]

    # Without fusion emitters, as most tests are compiled, XLA's loop for far z may never end.
    return jax.jit(jax.vmap(evaluate), compiler_options={"xla_cpu_use_fusion_emitters": True})


def values(name: str, z: Any) -> Values:
    z = jnp.asarray(z, jnp.float32)
    assert z.shape == (POINTS, prior(name).dim)
    theta, *others = evaluation(name)(z)
    return Values(np.asarray(z), theta, *map(np.asarray, others))


@functools.cache
def drawn(name: str) -> Values:
    return values(name, prior(name).sample(jax.random.key(1), POINTS))


def some_z(name: str, reach: float) -> np.ndarray:
    """Points on all sides of the centre, the same for every prior."""
    return np.random.default_rng(0).uniform(-reach, reach, (POINTS, prior(name).dim))


@pytest.fixture(params=PRIORS, scope="module")  # all tests of one prior in a row
def name(request):
    return request.param


def test_draws_lie_on_the_support(name):
    draws = drawn(name)
    assert prior(name).space.contains(draws.theta)
    assert np.all(np.isfinite(draws.z))
    assert np.all(np.isfinite(draws.log_prob))


def test_constrain_and_unconstrain_are_inverse(name):
    grain = PRIORS[name].grain
    found = values(name, some_z(name, 1 if grain else 3))
    assert prior(name).space.contains(found.theta)
    # An ulp of theta is one part in 2^24 of it; at |z| = 3 the bijections (u up to about 6)
    # stretch that by up to e^6, and a vector's rounding errors add up.
    atol = grain or 24 * math.exp(6) * 2.0**-24
    np.testing.assert_allclose(found.back, found.z, atol=atol)


def test_log_det_is_that_of_the_jacobian(name):
    space, free = prior(name).space, PRIORS[name].free
    found = values(name, some_z(name, 2))
    jacobian = jax.jit(jax.vmap(jax.jacfwd(lambda point: free(space.constrain(point)))))
    expected = np.linalg.slogdet(np.asarray(jacobian(found.z), np.float64))[1]
    # Entries of a float32 Jacobian are right to a few ulps, 1e-6; conditions stay below 100.
    np.testing.assert_allclose(found.log_det, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["lognormal", "ordered", "simplex"], indirect=True)
def test_reverse_gradients_are_those_of_forward_mode(name):
    space = prior(name).space
    z = jnp.asarray(some_z(name, 2)[0])

    def free(point):
        return PRIORS[name].free(space.constrain(point))

    reverse, forward = jax.jit(jax.jacrev(free))(z), jax.jit(jax.jacfwd(free))(z)
    np.testing.assert_allclose(reverse, forward, rtol=1e-5, atol=1e-5)


def test_z_has_the_median_zero_and_unit_spread(name):
    low, mid, high = np.quantile(drawn(name).z, [0.16, 0.5, 0.84], axis=0)
    # Four standard errors of 2048 draws here and 4096 in the prior's own pilot, at densities
    # like the normal's: 1.5 / sqrt(n) for the outer quantiles, 1.25 / sqrt(n) for the median.
    error = 4 * 1.5 * (1 / 2048 + 1 / 4096) ** 0.5 + PRIORS[name].grain
    np.testing.assert_allclose(mid, 0, atol=error)
    np.testing.assert_allclose((high - low) / 2, 1, atol=error)


def test_supports_survive_json(name):
    """That loaded spaces are the same to the last bit is tested with results."""
    for support in prior(name).space.supports:
        read = decode(json.loads(json.dumps(encode(support))))
        assert type(read) is type(support)
        assert encode(read) == encode(support)
        jax.tree.map(np.testing.assert_array_equal, read, support)


@pytest.mark.parametrize("reach", [30.0, 100.0])
def test_extreme_z_stays_on_the_support(name, reach):
    space = prior(name).space
    signs = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], (POINTS, space.dim))
    found = values(name, reach * signs)
    assert space.contains(found.theta)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(found.theta))
    assert np.all(np.isfinite(found.back))
    assert not np.any(np.isnan(found.log_det))
    assert np.all(found.log_prob < np.inf)  # and so none is NaN


def test_the_density_of_z_is_that_of_its_draws(name):
    """The mean of g(z) / p(z) over draws of p is one, for a density g with lighter tails."""
    draws = drawn(name)
    g = stats.norm.logpdf(draws.z, 0, 0.8).sum(axis=1)
    ratio = np.exp(g - draws.log_prob)
    error = 4 * ratio.std() / POINTS**0.5
    assert error < 0.3  # or the test would see nothing
    np.testing.assert_allclose(ratio.mean(), 1, atol=error + PRIORS[name].grain / 4)


@pytest.mark.parametrize("name", ONE_DIMENSIONAL, indirect=True)
def test_the_density_of_z_integrates_to_one(name):
    draws = drawn(name)
    # Heavy tails hold 2 / (pi 40) of a Cauchy beyond 40 spreads: the grid ends much further out.
    grid = np.sinh(np.linspace(-12, 12, POINTS))
    density = np.exp(values(name, grid[:, None]).log_prob)
    steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
    cdf = np.concatenate([[0.0], np.cumsum(steps)])
    # The trapezoidal rule in steps of 0.012 of asinh z, and float32 densities.
    assert cdf[-1] == pytest.approx(1, abs=1e-3)
    # The Kolmogorov-Smirnov distance of 2048 draws exceeds 1.95 / sqrt(2048) once in a thousand.
    found = stats.kstest(draws.z[:, 0], lambda z: np.interp(z, grid, cdf)).statistic
    assert found < 1.95 / POINTS**0.5 + PRIORS[name].grain / 4


def test_the_density_of_theta_is_the_distributions_own(name):
    draws = drawn(name)
    if isinstance(PRIORS[name].prior, dict):
        entries = [(PRIORS[name].prior[n], draws.theta[n]) for n in PRIORS[name].prior]
    else:
        entries = [(PRIORS[name].prior, draws.theta)]
    with jax.numpy_rank_promotion("allow"):  # numpyro's parameters have no axis for the draws
        densities = [np.asarray(d.log_prob(leaf)).reshape(POINTS, -1) for d, leaf in entries]
    expected = sum(density.sum(axis=1) for density in densities)
    # Sums of a few float32 terms of order ten.
    found = draws.log_prob - draws.log_det
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)


def test_draws_follow_from_the_key():
    found = prior("shapes")
    again = found.sample(jax.random.key(1), POINTS)
    np.testing.assert_array_equal(again, drawn("shapes").z)
    assert not np.any(found.sample(jax.random.key(2), POINTS) == again)


# --- Mistakes ----------------------------------------------------------------------------------

UNCHECKED = {"validate_args": False}  # as under jit, where numpyro cannot check


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (dist.Poisson(3.0), ValueError, "discrete.*round inside the simulator"),
        (dist.Normal, TypeError, r"Did you mean Normal\(\.\.\.\)"),
        (1.0, TypeError, "expected a numpyro distribution"),
        (dist.Normal(0, math.nan, **UNCHECKED), ValueError, "not finite.*check its parameters"),
        (dist.Normal(0, -1.0, **UNCHECKED), ValueError, "not finite.*negative scale"),
        (dist.Uniform(2.0, 1.0, **UNCHECKED), ValueError, "outside of its support"),
        (dist.Delta(1.0), ValueError, "constant.*into the simulator"),
        (dist.Normal(0, 1e20), ValueError, r"size .e\+20.*variance.*Change the units"),
        (dist.Normal(0, 1e-20), ValueError, r"size .e-20.*variance.*Change the units"),
        (dist.LogNormal(jnp.array([0.0, -60.0]), 1), ValueError, "variance.*Change the units"),
        (dist.HalfNormal(1e-42), ValueError, "variance.*Change the units"),
        (dist.Uniform(1e9, 1e9 + 1), ValueError, "constant in single precision"),
        (dist.Normal(jnp.zeros(0), 1.0), ValueError, "at least one number"),
        (dist.ImproperUniform(constraints.real, (), ()), ValueError, "proper distribution"),
        (dist.ProjectedNormal(jnp.ones(2)), ValueError, "no bijection.*Use a distribution on"),
        (
            dist.TransformedDistribution(dist.Uniform(0, 1), transforms.AffineTransform(2, 3)),
            ValueError,
            "AffineTransform.*domain=",
        ),
        (
            dist.TransformedDistribution(
                dist.LogNormal(jnp.zeros(2), 1), transforms.AffineTransform(1, 1)
            ),
            ValueError,
            "AffineTransform.*domain=",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, dist.Distribution) else None,
)
def test_a_prior_that_cannot_be_used_is_refused(entry, error, message):
    with pytest.raises(error, match=r"prior\['b'\].*" + message):
        read_prior({"a": dist.Normal(0, 1), "b": entry})


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({}, "dict of names to numpyro distributions"),
        (None, "dict of names to numpyro distributions"),
        ([dist.Normal(0, 1)], "dict of names to numpyro distributions"),
        (dist.Normal, "dict of names to numpyro distributions"),
        ({1: dist.Normal(0, 1)}, "non-empty strings, got 1"),
        ({"": dist.Normal(0, 1)}, "non-empty strings, got ''"),
    ],
)
def test_what_is_no_prior_is_refused(prior, message):
    with pytest.raises(TypeError, match=f"prior: expected.*{message}"):
        read_prior(prior)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\0b", "printable"),
        ("a\nb", "printable"),
        ("\ud800", "printable"),
        (" a", "space"),
        ("a" * 201, "at most 200 characters"),
        ("v[1]", "entry of 'v'"),
    ],
)
def test_names_that_files_and_tables_cannot_hold_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        read_prior({"v": dist.Normal(jnp.zeros(2), 1), name: dist.Normal(0, 1)})


def test_a_prior_without_a_free_parameter_is_refused():
    with pytest.raises(ValueError, match="prior: expected at least one free parameter"):
        read_prior(dist.Dirichlet(jnp.ones(1)))
