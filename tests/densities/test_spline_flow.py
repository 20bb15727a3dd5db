"""The spline flow as a family: its start, and what a warm start takes over."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import pliant
from pliant.densities.coupling import CouplingFlow
from pliant.densities.spline_flow import FlowDensity, _Data

FAMILY = pliant.SplineFlow(layers=2, bins=4, width=8, training=pliant.Training(steps=50))
STILL = pliant.Training(steps=1, every=1, rate=1e-9)


def untrained(dim):
    flow = CouplingFlow(jax.random.key(0), dim=dim, layers=2, bins=4, width=8)
    return FlowDensity(jnp.zeros(dim), jnp.eye(dim), flow)


def test_an_untrained_flow_is_a_standard_normal():
    density = untrained(3)
    z = density.sample(jax.random.key(0), 100)
    expected = stats.norm.logpdf(np.asarray(z)).sum(axis=1)
    np.testing.assert_allclose(density.log_prob(z), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("warm", [True, False])
def test_a_warm_start_takes_the_flow_and_a_cold_one_does_not(warm):
    family = pliant.SplineFlow(layers=2, bins=4, width=8, training=STILL, warm_start=warm)
    z = jax.random.normal(jax.random.key(0), (200, 2))
    init = untrained(2)
    init = eqx.tree_at(lambda d: d.flow.bias_1, init, init.flow.bias_1 + 0.5)
    density, _ = family.fit(jax.random.key(1), z, jnp.zeros(200), init)
    assert isinstance(density, FlowDensity)
    assert np.allclose(density.flow.bias_1, 0.5, atol=1e-4) == warm


def test_whitening_takes_the_place_and_the_width():
    z = 100 + 0.01 * jax.random.normal(jax.random.key(0), (500, 1))
    density, info = FAMILY.fit(jax.random.key(1), z, jnp.zeros(500), None)
    draws = density.sample(jax.random.key(2), 2000)
    assert float(jnp.mean(draws)) == pytest.approx(100, abs=2e-3)
    assert float(jnp.std(draws)) == pytest.approx(0.01, rel=0.15)
    assert int(info["fit_steps"]) == 50


@pytest.mark.parametrize(
    ("whitening", "mean", "factor"),
    [
        ("full", [1.0, -2.0], [[2.0, 0.0], [0.9, 0.3]]),
        ("diagonal", [1.0, -2.0], [[2.0, 0.0], [0.0, 0.9**0.5]]),  # of the variance 0.81 + 0.09
        ("none", [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
    ],
)
def test_whitening_is_full_diagonal_or_none(whitening, mean, factor):
    noise = np.asarray(jax.random.normal(jax.random.key(0), (20_000, 2)))
    z = np.array([1.0, -2.0]) + noise @ np.array([[2.0, 0.0], [0.9, 0.3]]).T
    family = pliant.SplineFlow(layers=2, bins=4, width=8, training=STILL, whitening=whitening)
    density, _ = family.fit(jax.random.key(1), jnp.asarray(z), jnp.zeros(len(z)), None)
    assert isinstance(density, FlowDensity)
    np.testing.assert_allclose(density.mean, mean, atol=0.05)
    np.testing.assert_allclose(density.factor, factor, atol=0.05)


def test_without_selection_nothing_is_held_out():
    z = jax.random.normal(jax.random.key(0), (100, 1))
    training = pliant.Training.plain(steps=20, rate=1e-3)
    family = pliant.SplineFlow(layers=1, bins=4, width=8, training=training)
    _, info = family.fit(jax.random.key(1), z, jnp.zeros(100), None)
    assert set(info) == {"fit_steps"}
    data = _Data(jax.random.key(2), np.asarray(z).T, np.zeros(100), 0.0, 10)
    np.testing.assert_array_equal(np.sort(data.trained[0, :100]), np.sort(z[:, 0]))
    assert data.held_out.shape == (1, 0)


@pytest.mark.parametrize("n", [100, 4999, 5000, 5001])
def test_samples_are_padded_with_what_has_no_weight_and_is_never_drawn(n):
    rng = np.random.default_rng(0)
    x, log_w = rng.normal(size=(1, n)), rng.normal(size=n)
    data = _Data(jax.random.key(2), x, log_w, 0.1, 10)
    whole = 5000 if n <= 5000 else 10_000
    assert data.held_out.shape[1] + data.trained.shape[1] == whole
    held_out = n // 10
    found = np.concatenate([data.held_out[0, :held_out], data.trained[0, : n - held_out]])
    np.testing.assert_allclose(np.sort(found), np.sort(x[0]), rtol=1e-6)
    assert float(data.held_out_weights.sum()) == pytest.approx(1, abs=1e-5)
    assert not np.any(data.held_out_weights[held_out:])
    last = np.nextafter(np.float32(1), np.float32(0))  # the largest that a uniform draw can be
    index = jnp.searchsorted(data.cumulative, jnp.array([0.0, last]), side="right")
    assert int(index.max()) < n - held_out


def test_a_deeper_flow_fits_as_well():
    z = jax.random.normal(jax.random.key(0), (500, 2))
    family = pliant.SplineFlow(layers=2, bins=4, width=8, depth=3, training=FAMILY.training)
    density, _ = family.fit(jax.random.key(1), z, jnp.zeros(500), None)
    assert isinstance(density, FlowDensity)
    assert density.flow.hidden.shape[1] == 2
    expected = -stats.norm.logpdf(np.asarray(z)).sum(axis=1).mean()
    assert -float(density.log_prob(z).mean()) == pytest.approx(expected, abs=0.1)
