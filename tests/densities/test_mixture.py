"""Mixtures: shares and modes that EM recovers, draws with weights, and no collapse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import pliant


def two_modes(n=4000):
    """A quarter of the samples around -3 with spread 0.5, the others around 2 with spread 1."""
    key, side_key = jax.random.split(jax.random.key(0))
    left = jax.random.uniform(side_key, (n, 1)) < 0.25
    noise = jax.random.normal(key, (n, 1))
    return jnp.where(left, -3 + 0.5 * noise, 2 + noise)


@pytest.fixture(scope="module")
def fitted():
    z = two_modes()
    family = pliant.GaussianMixture(components=2)
    return family.fit(jax.random.key(1), z, jnp.zeros(len(z)), None)[0]


def test_shares_means_and_spreads_are_recovered(fitted):
    order = np.argsort(fitted.components.mean[:, 0])
    shares = np.asarray(jax.nn.softmax(fitted.logits))[order]
    # about four standard errors of 4000 samples
    np.testing.assert_allclose(shares, [0.25, 0.75], atol=0.03)
    np.testing.assert_allclose(fitted.components.mean[order, 0], [-3, 2], atol=0.08)
    np.testing.assert_allclose(
        np.exp(fitted.components.log_diagonal[order, 0]), [0.5, 1], atol=0.06
    )


def test_the_density_is_the_sum_of_its_parts(fitted):
    z = jnp.linspace(-5.0, 5.0, 21)[:, None]
    shares = jax.nn.softmax(fitted.logits)
    parts = zip(shares, fitted.components.mean[:, 0], fitted.components.log_diagonal, strict=True)
    expected = np.sum(
        [s * stats.norm.pdf(np.asarray(z)[:, 0], m, np.exp(d[0])) for s, m, d in parts], axis=0
    )
    np.testing.assert_allclose(np.exp(fitted.log_prob(z)), expected, rtol=1e-3)


def test_weighted_draws_have_the_moments_of_samples(fitted):
    z, log_weights = fitted.draw(jax.random.key(2), 20_000)
    weights = np.exp(log_weights)
    assert np.mean(weights) == pytest.approx(1.0, rel=1e-4)
    samples = fitted.sample(jax.random.key(3), 20_000)
    assert np.average(z[:, 0], weights=weights) == pytest.approx(float(samples.mean()), abs=0.1)


def test_no_component_collapses_onto_repeated_samples():
    z = jnp.concatenate([jnp.zeros((50, 2)), jax.random.normal(jax.random.key(0), (50, 2))])
    density, _ = pliant.GaussianMixture(components=4).fit(
        jax.random.key(1), z, jnp.zeros(100), None
    )
    assert np.all(np.isfinite(density.log_prob(z)))
    assert np.exp(density.components.log_diagonal).min() > 1e-2
