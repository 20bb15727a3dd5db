"""Divergences and sizes against their formulas, and Pareto-smoothed weights against ArviZ's."""

import numpy as np
import pytest

from pliant._importance import (
    divergence_from_uniform,
    effective_sample_size,
    normalise,
    smooth_weights,
)


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [200, 5000])
def test_weights_and_shape_are_those_of_arviz(n, shape):
    arviz = pytest.importorskip("arviz")
    log_w = -shape * np.log(np.random.default_rng(0).random(n))
    expected, expected_shape = arviz.psislw(log_w.copy())
    smoothed, found = smooth_weights(log_w)
    assert found == pytest.approx(float(expected_shape), abs=1e-6)
    # Both keep the body; ArviZ normalises its weights.
    np.testing.assert_allclose(normalise(smoothed), normalise(np.asarray(expected)), rtol=1e-6)


@pytest.mark.parametrize("shape", [0.2, 0.7])
def test_the_shape_of_a_pareto_tail_is_found(shape):
    log_w = -shape * np.log(np.random.default_rng(1).random(100_000))
    # The tail has 948 weights: the standard error of its shape is (1 + k) / sqrt(948).
    assert smooth_weights(log_w)[1] == pytest.approx(shape, abs=4 * (1 + shape) / 948**0.5)


def test_smoothing_brings_an_average_nearer_to_its_value():
    rng = np.random.default_rng(2)
    raw, smooth = [], []
    for _ in range(200):
        z = rng.normal(size=500)
        log_w = -0.5 * (z / 1.4) ** 2 + 0.5 * z**2  # the target is 1.4 times wider
        for errors, log_v in ((raw, log_w), (smooth, smooth_weights(log_w)[0])):
            errors.append(normalise(log_v) @ z**2 - 1.4**2)
    assert np.mean(np.square(smooth)) < np.mean(np.square(raw))


def test_equal_weights_have_no_tail():
    smoothed, shape = smooth_weights(np.full(100, 3.0))
    assert shape == -np.inf
    assert effective_sample_size(smoothed) == pytest.approx(100)


@pytest.mark.parametrize("log_w", [np.zeros(4), np.append(np.zeros(3), np.full(500, -np.inf))])
def test_too_few_weights_cannot_be_trusted(log_w):
    assert smooth_weights(log_w)[1] == np.inf


def test_particles_without_a_weight_keep_none():
    log_w = np.random.default_rng(3).normal(size=1000)
    log_w[:100] = -np.inf
    smoothed, shape = smooth_weights(log_w)
    assert np.all(np.isneginf(smoothed[:100]))
    assert np.all(np.isfinite(smoothed[100:]))
    assert np.isfinite(shape)


def test_divergence_from_base_weights():
    rng = np.random.default_rng(0)
    base, tilt = rng.normal(size=300), rng.normal(size=300)
    w, b = normalise(base + tilt), normalise(base)
    expected = np.sum(w * np.log(w / b))
    assert divergence_from_uniform(base + tilt, base) == pytest.approx(expected)
    assert divergence_from_uniform(base, base) == pytest.approx(0.0, abs=1e-12)
    padded = np.append(base, -np.inf)
    assert divergence_from_uniform(np.append(base + tilt, -np.inf), padded) == pytest.approx(
        expected
    )


def test_effective_sample_size_of_equal_and_single_weights():
    assert effective_sample_size(np.zeros(50)) == pytest.approx(50)
    assert effective_sample_size(np.array([0.0, -np.inf, -np.inf])) == 1
    assert effective_sample_size(np.full(3, -np.inf)) == 0
