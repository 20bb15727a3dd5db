import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flowjax.bijections import RationalQuadraticSpline

from pliant.densities.coupling import (
    _MIN_SLOPE,
    _UNIT,
    CouplingFlow,
    spline_forward,
    spline_inverse,
)


def random_flow(dim, condition_dim=0, **size):
    """A flow whose last layers are not zero, so that it bends."""
    flow = CouplingFlow(jax.random.key(0), dim=dim, condition_dim=condition_dim, **size)
    leaves, structure = jax.tree.flatten(flow)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    noise = [0.1 * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, [a + b for a, b in zip(leaves, noise, strict=True)])


def test_a_new_flow_is_the_identity():
    x = 2 * jax.random.normal(jax.random.key(0), (3, 50))
    flow = CouplingFlow(jax.random.key(0), dim=3, layers=3)
    y, log_det = eqx.filter_jit(flow.forward)(x)
    # three layers of splitting and moving in three dimensions bring each entry home
    np.testing.assert_allclose(np.sort(y, axis=0), np.sort(x, axis=0), atol=1e-4)
    np.testing.assert_allclose(log_det, 0, atol=1e-3)


@pytest.mark.parametrize("dim", [1, 3, 10])
@pytest.mark.parametrize("condition_dim", [0, 4])
def test_inverse_undoes_forward(dim, condition_dim):
    """In double precision: where five splines are flat, single precision loses the way back."""
    with jax.enable_x64(True):
        flow = random_flow(dim, condition_dim)
        x = 3 * jax.random.normal(jax.random.key(2), (dim, 200))
        condition = jax.random.normal(jax.random.key(3), (condition_dim, 200))
        condition = condition if condition_dim else None
        y, forward_det = eqx.filter_jit(flow.forward)(x, condition)
        back, inverse_det = eqx.filter_jit(flow.inverse)(y, condition)
        np.testing.assert_allclose(back, x, atol=1e-9)
        np.testing.assert_allclose(inverse_det, forward_det, atol=1e-9)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_knots_come_from_a_network_of_the_given_depth(depth):
    """The first layer's network, computed by loops over its hidden layers."""
    flow = random_flow(4, layers=2, width=7, depth=depth)
    assert flow.hidden.shape == (2, depth - 1, 7, 7)
    kept = jax.random.normal(jax.random.key(2), (2, 5))
    h = np.maximum(flow.hidden_1[0] @ kept + flow.bias_1[0], 0)
    for layer in range(depth - 1):
        h = np.maximum(flow.hidden[0, layer] @ h + flow.bias[0, layer], 0)
    raw = np.asarray(flow.last[0] @ h + flow.bias_last[0]).reshape(29, 2, 5)
    shares = np.exp(raw[:10]) / np.exp(raw[:10]).sum(axis=0)
    widths, _, _ = flow._knots(jax.tree.map(lambda leaf: leaf[0], flow._weights), kept, None)
    np.testing.assert_allclose(widths, 10 * (1e-3 + 0.99 * shares), rtol=1e-4)


@pytest.mark.parametrize("dim", [1, 5])
def test_log_det_is_that_of_the_jacobian(dim):
    flow = random_flow(dim)
    x = jax.random.normal(jax.random.key(2), (20, dim))
    jacobian = jax.jit(jax.vmap(jax.jacobian(lambda p: flow.forward(p[:, None])[0][:, 0])))
    _, log_abs = np.linalg.slogdet(np.asarray(jacobian(x), np.float64))
    np.testing.assert_allclose(eqx.filter_jit(flow.forward)(x.T)[1], log_abs, atol=2e-3)


def test_spline_agrees_with_flowjax():
    """The same knots give the same spline, inside and outside of the interval."""
    bins, interval = 10, 5.0
    rng = np.random.default_rng(0)
    x_pos = np.concatenate([[-interval], np.sort(rng.uniform(-interval, interval, bins - 1))])
    y_pos = np.concatenate([[-interval], np.sort(rng.uniform(-interval, interval, bins - 1))])
    x_pos, y_pos = np.append(x_pos, interval), np.append(y_pos, interval)
    slopes = rng.uniform(0.2, 3, bins - 1)
    oracle = RationalQuadraticSpline(knots=bins - 1, interval=interval)
    object.__setattr__(oracle, "x_pos", jnp.asarray(x_pos))
    object.__setattr__(oracle, "y_pos", jnp.asarray(y_pos))
    object.__setattr__(oracle, "derivatives", jnp.asarray(np.concatenate([[1], slopes, [1]])))

    x = jnp.linspace(-7, 7, 301)
    knots = [jnp.asarray(a, jnp.float32)[:, None, None] for a in (np.diff(x_pos), np.diff(y_pos))]
    knots = [jnp.broadcast_to(k, (bins, 1, 301)) for k in knots]
    raw_slopes = np.log(np.expm1(slopes - _MIN_SLOPE)) - _UNIT
    inner = jnp.asarray(raw_slopes, jnp.float32)[:, None, None]
    knots.append(jnp.broadcast_to(inner, (bins - 1, 1, 301)))
    knots = [list(rows) for rows in knots]
    y, log_slope = spline_forward(x[None], *knots, interval=interval)
    expected, expected_slope = jax.vmap(oracle.transform_and_log_det)(x)
    np.testing.assert_allclose(y[0], expected, atol=2e-5)
    np.testing.assert_allclose(log_slope[0], expected_slope, atol=2e-4)
    back, inverse_slope = spline_inverse(y, *knots, interval=interval)
    np.testing.assert_allclose(back[0], x, atol=1e-4)
    np.testing.assert_allclose(inverse_slope, log_slope, atol=1e-3)
