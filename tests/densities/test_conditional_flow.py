"""The conditional flow is a density for every condition, and agrees with its samples."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.conditional_flow import ConditionalFlow


@pytest.fixture(scope="module")
def flow():
    """A flow with random weights, so that both of its parts depend on the condition."""
    plain = ConditionalFlow(jax.random.key(0), dim=2, condition_dim=3, layers=2, bins=4, width=16)
    rng = np.random.default_rng(1)
    arrays, rest = eqx.partition(plain, eqx.is_array)
    bent = jax.tree.map(
        lambda a: jnp.asarray(np.asarray(a) + rng.normal(0, 0.15, a.shape), float), arrays
    )
    return eqx.combine(bent, rest)


@eqx.filter_jit
def log_prob(flow, y, condition):
    return flow.log_prob(y, condition)


@eqx.filter_jit
def sample(flow, key, condition):
    return flow.sample(key, condition)


CONDITIONS = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]], np.float32)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_it_integrates_to_one_and_agrees_with_its_samples(flow, condition):
    axis = np.linspace(-15, 15, 601)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij")).reshape(2, -1).astype(np.float32)
    repeated = jnp.broadcast_to(condition[:, None], (3, grid.shape[1]))
    density = np.exp(np.asarray(log_prob(flow, grid, repeated), np.float64))
    mass = density * (axis[1] - axis[0]) ** 2
    assert mass.sum() == pytest.approx(1, abs=2e-3)

    n = 40_000
    drawn = np.asarray(
        sample(flow, jax.random.key(2), jnp.broadcast_to(condition[:, None], (3, n)))
    )
    mean = grid @ mass
    spread = np.sqrt((grid - mean[:, None]) ** 2 @ mass)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=5 * spread.max() / n**0.5)
    np.testing.assert_allclose(drawn.std(axis=1), spread, rtol=0.03)


def test_one_condition_for_all_points_is_that_condition_for_each(flow):
    y = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    one = CONDITIONS[1][:, None]
    found = log_prob(flow, y, one)
    assert found.shape == (50,)
    expected = log_prob(flow, y, np.broadcast_to(one, (3, 50)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_conditions_in_turn_are_those_of_each_point(flow):
    """Values and gradients, where what a condition alone decides is computed once."""
    rng = np.random.default_rng(0)
    y, condition = (jnp.asarray(rng.normal(size=shape), float) for shape in ((2, 21), (3, 7)))

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def total(flow, condition):
        return jnp.sum(flow.log_prob(y, condition) ** 2)

    once, tiled = total(flow, condition), total(flow, jnp.tile(condition, 3))
    each = np.asarray(log_prob(flow, y, condition))
    assert np.ptp(each) > 1
    np.testing.assert_allclose(
        each, log_prob(flow, y, jnp.tile(condition, 3)), rtol=1e-5, atol=1e-5
    )
    # single precision, of sums over 21 points
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3), once, tiled)


@pytest.mark.parametrize("dim", [1, 3, 25])
def test_moments_of_many_points_for_each_condition_give_their_mean_log_density(dim):
    """With correlations up to twenty dimensions, and without."""
    plain = ConditionalFlow(jax.random.key(0), dim=dim, condition_dim=3, layers=0, bins=4, width=16)
    assert plain.is_gaussian
    rng = np.random.default_rng(1)
    gaussian = jax.tree.map(
        lambda a: a + jnp.asarray(rng.normal(0, 0.1, a.shape), float) if eqx.is_array(a) else a,
        plain,
    )
    y = jnp.asarray(rng.normal(size=(dim, 6, 4)), float)
    condition = jnp.asarray(rng.normal(size=(3, 6)), float)
    centred = y - y.mean(axis=2, keepdims=True)
    covariance = jnp.einsum("ibm,jbm->ijb", centred, centred) / 4
    found = gaussian.mean_gaussian_log_prob(y.mean(axis=2), covariance, condition)
    each = log_prob(gaussian, y.reshape(dim, 24), jnp.repeat(condition, 4, axis=1))
    assert np.ptp(each) > 1
    np.testing.assert_allclose(found, each.reshape(6, 4).mean(axis=1), rtol=1e-4, atol=1e-4)


def test_a_flow_is_no_gaussian(flow):
    assert not flow.is_gaussian


def test_another_view_of_the_condition_is_the_same_density(flow):
    rng = np.random.default_rng(0)
    factor, shift = jnp.array([0.5, 2.0, 1.5]), jnp.array([0.3, -1.0, 0.0])
    y = rng.normal(size=(2, 50)).astype(np.float32)
    condition = rng.normal(size=(3, 50)).astype(np.float32)
    moved = flow.with_condition(jnp.diag(factor), shift)
    expected = log_prob(flow, y, factor[:, None] * condition + shift[:, None])
    np.testing.assert_allclose(log_prob(moved, y, condition), expected, rtol=2e-4, atol=2e-4)


def test_a_new_one_is_a_standard_normal_also_where_it_has_no_correlations():
    for dim in (3, 25):
        flow = ConditionalFlow(
            jax.random.key(0), dim=dim, condition_dim=2, layers=1, bins=4, width=8
        )
        y = np.random.default_rng(0).normal(size=(dim, 20)).astype(np.float32)
        expected = -0.5 * (y**2).sum(axis=0) - 0.5 * dim * np.log(2 * np.pi)
        np.testing.assert_allclose(log_prob(flow, y, jnp.ones((2, 20))), expected, atol=2e-2)
