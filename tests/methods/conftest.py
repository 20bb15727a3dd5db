"""A conjugate problem whose ABC posterior is known at every tolerance, for all samplers."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import pliant

N = 5
NOISE = 1.0


def simulator(key, theta):
    return theta["mu"] + NOISE * jax.random.normal(key)


@pytest.fixture(scope="session")
def conjugate():
    """``mu ~ N(0, 1)`` and five observations ``N(mu, 1)``, compared by their mean.

    The mean s of a simulated set is N(mu, NOISE^2 / N), and D = (s - observed mean)^2: so the ABC
    posterior with the uniform kernel is ``N(mu; 0, 1) P(|s - observed mean| <= sqrt(h) | mu)``.
    """
    observed = 0.8 + NOISE * jax.random.normal(jax.random.key(3), (N,))
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, observed, scale=None)
    centre, spread = float(observed.mean()), NOISE / N**0.5

    def moments(h):
        """Mean and standard deviation of the ABC posterior at the tolerance h."""
        mu = np.linspace(-6, 6, 20_001)
        high, low = ((centre + side * h**0.5 - mu) / spread for side in (1, -1))
        weights = norm.pdf(mu) * (norm.cdf(high) - norm.cdf(low))
        weights /= weights.sum()
        mean = weights @ mu
        return mean, (weights @ (mu - mean) ** 2) ** 0.5

    def draw(h, n):
        """``n`` independent draws of it."""
        rng = np.random.default_rng(0)
        mu = rng.normal(size=200 * n)
        hit = (rng.normal(mu, spread) - centre) ** 2 <= h
        assert hit.sum() >= n
        return mu[hit][:n]

    precision = 1 + N / NOISE**2
    return SimpleNamespace(
        problem=problem,
        moments=moments,
        draw=draw,
        mean=centre * N / NOISE**2 / precision,
        sd=precision**-0.5,
    )


@pytest.fixture(scope="session")
def uninformative():
    """A simulator that says nothing of its parameter: every posterior is the prior, N(0, 1)."""
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: 0 * theta["mu"] + jax.random.normal(key),
        jnp.zeros(2),
        scale=None,
    )
