"""A flow for each mode: shares, densities and draws that agree, and no draw in between."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import pliant
from pliant.densities.flow_mixture import FlowMixture, widened
from pliant.densities.gaussian import GaussianDensity

KEY = jax.random.key(0)
SHARES = np.array([0.7, 0.3])
TWO = FlowMixture(
    jnp.asarray(np.log(SHARES), float),
    (
        GaussianDensity(jnp.array([-20.0, 0.0]), jnp.ones(2), 0.5 * jnp.eye(2)),
        GaussianDensity(jnp.array([20.0, 1.0]), jnp.ones(2), 1.5 * jnp.eye(2)),
    ),
)


def test_it_is_the_sum_of_its_components():
    z = jax.random.normal(KEY, (50, 2)) * 5
    each = [np.asarray(component.log_prob(z)) for component in TWO.components]
    expected = logsumexp(np.stack(each) + np.log(SHARES)[:, None], axis=0)
    np.testing.assert_allclose(TWO.log_prob(z), expected, rtol=1e-4, atol=1e-4)


def test_draws_have_the_shares_and_the_moments_of_the_components():
    z = np.asarray(TWO.sample(KEY, 20_000))
    right = z[:, 0] > 0
    assert right.mean() == pytest.approx(0.3, abs=0.013)  # four standard errors
    for some, component in ((~right, TWO.components[0]), (right, TWO.components[1])):
        assert isinstance(component, GaussianDensity)
        width = np.asarray(component.cholesky)[0, 0]
        error = 4 * width / np.sqrt(some.sum())
        np.testing.assert_allclose(z[some].mean(axis=0), component.mean, atol=error)
        np.testing.assert_allclose(z[some].std(axis=0), width, rtol=0.05)


def test_weighted_draws_estimate_the_same():
    z, log_w = TWO.draw(KEY, 20_000)
    weights = np.exp(np.asarray(log_w))
    assert weights.mean() == pytest.approx(1.0, abs=1e-3)
    assert np.mean(weights * (np.asarray(z)[:, 0] > 0)) == pytest.approx(0.3, abs=1e-3)


def test_a_fifth_of_the_draws_are_from_a_wider_copy_of_each_component():
    wide = widened(TWO)
    draws = wide.sample(KEY, 20_000)
    z = np.asarray(draws)
    right = z[:, 0] > 0
    assert right.mean() == pytest.approx(0.3, abs=0.013)
    left = TWO.components[0]
    assert isinstance(left, GaussianDensity)
    off = (z[~right] - np.asarray(left.mean)) / np.asarray(left.cholesky)[0, 0]
    np.testing.assert_allclose((off**2).mean(axis=0), 0.8 + 0.2 * 1.5**2, rtol=0.06)
    ratio = np.exp(np.asarray(TWO.log_prob(draws) - wide.log_prob(draws)))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / np.sqrt(len(ratio)))
    assert ratio.max() <= 1.2501  # no draw of q weighs more than 1 / 0.8


@pytest.fixture(scope="module")
def fitted():
    """To two narrow Gaussians, 0.6 and 0.4, among broad samples; and fitted again from there."""
    family = pliant.SplineFlow(
        layers=2, bins=4, width=16, training=pliant.Training(steps=200, rate=3e-3)
    )
    rng = np.random.default_rng(0)
    z = rng.uniform([-4.5, -1.5], [4.5, 1.5], (8000, 2))
    centres = np.array([[-3.0, 0.0], [3.0, 0.0]])
    squared = np.sum((z[:, None] - centres[None]) ** 2, axis=2)
    log_w = np.log(np.exp(-squared / (2 * 0.3**2)) @ [0.6, 0.4])
    given = jnp.asarray(z, float), jnp.asarray(log_w - log_w.max(), float)
    first, info = family.fit(jax.random.key(1), *given, None)
    again, _ = family.fit(jax.random.key(2), *given, first)
    return first, again, info, family, given


@pytest.mark.training
def test_two_modes_are_fitted_by_two_flows(fitted):
    for density in fitted[:2]:
        assert isinstance(density, FlowMixture)
        z = np.asarray(density.sample(KEY, 5000))
        left = z[:, 0] < 0
        # Four standard errors: some 300 effective samples of each mode, and 5000 draws.
        assert left.mean() == pytest.approx(0.6, abs=0.08)
        assert np.mean(np.abs(z[:, 0]) < 1.2) < 2e-3  # six deviations from both
        for some in (left, ~left):
            np.testing.assert_allclose(z[some].std(axis=0), 0.3, rtol=0.15)


@pytest.mark.training
def test_the_held_out_loss_is_the_mean_of_the_modes(fitted):
    """The entropy of a standard normal, as each is whitened, up to the noise of fifty samples."""
    assert float(fitted[2]["held_out"]) == pytest.approx(1 + np.log(2 * np.pi), abs=0.5)


@pytest.mark.training
def test_modes_are_not_split_if_that_is_not_wanted(fitted):
    *_, family, given = fitted
    one = pliant.SplineFlow(layers=2, bins=4, width=16, training=family.training, split=False)
    density, _ = one.fit(jax.random.key(1), *given, None)
    assert not isinstance(density, FlowMixture)


@pytest.mark.training
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_a_mode_with_too_few_samples_keeps_its_flow(fitted, share):
    """Twenty samples on the right, with a share of the weight, cannot be fitted by themselves."""
    first, _, _, family, _ = fitted
    left, right = sorted(first.components, key=lambda flow: float(flow.mean[0]))
    z = np.concatenate([left.sample(jax.random.key(3), 2000), right.sample(jax.random.key(4), 20)])
    log_w = np.log(np.repeat([(1 - share) / 2000, share / 20], [2000, 20]))
    density, _ = family.fit(jax.random.key(5), jnp.asarray(z), jnp.asarray(log_w), first)
    assert isinstance(density, FlowMixture)
    drawn = np.asarray(density.sample(KEY, 20_000))
    assert np.mean(drawn[:, 0] > 0) == pytest.approx(share, abs=4 * np.sqrt(share / 20_000))
    assert np.mean(np.abs(drawn[:, 0]) < 1.2) < 2e-3
    assert any(eqx.tree_equal(component, right) for component in density.components)
    np.testing.assert_allclose(drawn[drawn[:, 0] < 0].std(axis=0), 0.3, rtol=0.15)


@pytest.mark.training
def test_a_mode_without_weight_is_left_out(fitted):
    first, _, _, family, _ = fitted
    left, right = sorted(first.components, key=lambda flow: float(flow.mean[0]))
    z = np.concatenate([left.sample(jax.random.key(3), 2000), right.sample(jax.random.key(4), 20)])
    log_w = np.where(z[:, 0] > 0, -20.0, 0.0)
    density, _ = family.fit(jax.random.key(5), jnp.asarray(z), jnp.asarray(log_w), first)
    assert not isinstance(density, FlowMixture)
