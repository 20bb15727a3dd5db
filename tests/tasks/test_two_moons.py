from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks.two_moons import TwoMoonsTask, log_likelihood


def simulate(theta, n, seed=0):
    keys = jax.random.split(jax.random.key(seed), n)
    draw = jax.vmap(lambda key: TwoMoonsTask().simulator(key, {"theta": jnp.asarray(theta)}))
    return np.asarray(draw(keys), float)


def turn(theta):
    """``(|s|, d)`` of parameters."""
    theta = np.asarray(theta, float)
    return np.stack([np.abs(theta.sum(axis=1)), theta[:, 1] - theta[:, 0]], axis=1) / 2**0.5


@pytest.mark.parametrize("theta", [(-0.8176656, -0.5756806), (0.4, -0.9)])
def test_simulator_has_the_law_of_its_likelihood(theta):
    """Counts of 200,000 draws in cells of the half ring, by the midpoint rule in each cell."""
    n, fine = 200_000, 6
    (place,) = turn([theta])
    centre = np.array([0.25 - place[0], place[1]])
    x = simulate(theta, n)
    edges = [np.linspace(0.0, 0.16, 17) + centre[0], np.linspace(-0.16, 0.16, 33) + centre[1]]
    counts = np.histogram2d(*x.T, bins=edges)[0]
    middles = [
        e[0] + (e[-1] - e[0]) / (len(e) - 1) / fine * (np.arange((len(e) - 1) * fine) + 0.5)
        for e in edges
    ]
    points = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp([log_likelihood(place[None], point[None])[0] for point in points])
    cell = (0.01 / fine) ** 2
    wanted = n * cell * density.reshape(16, fine, 32, fine).sum(axis=(1, 3))
    assert wanted.sum() == pytest.approx(n, rel=1e-4)  # a density; 1e-9 is outside of the cells
    assert counts.sum() == pytest.approx(n, abs=3)  # draws on the edge, rounded
    likely = wanted > 10
    assert (
        stats.chisquare(
            np.append(counts[likely], n - counts[likely].sum()),
            np.append(wanted[likely], n - wanted[likely].sum()),
        ).pvalue
        > 0.01
    )


def log_density(place, x):
    """Observation by observation, as the definition has it, with its edge."""
    total = np.where(place[:, 0] + np.abs(place[:, 1]) < 2**0.5, 0.0, -np.inf)
    for point in x:
        u, v = point[0] - 0.25 + place[:, 0], point[1] - place[:, 1]
        r = np.hypot(u, v)
        total += np.where(u > 0, stats.norm.logpdf(r, 0.1, 0.01) - np.log(np.pi * r), -np.inf)
    return total


@pytest.mark.parametrize(
    ("n_obs", "cells"), [(1, 700), (2, 500), (10, 400), (100, 200), (1000, 80)]
)
def test_reference_matches_quadrature(n_obs, cells):
    """The midpoint rule on eight deviations around the mean, above the edge."""
    task, n = TwoMoonsTask(), 20_000
    x = np.asarray(task.observed(n_obs, 1), float)
    theta = turn(task.posterior_samples(x, seed=1, n=n)["theta"])
    mean, deviation = theta.mean(axis=0), theta.std(axis=0)
    edge = 0.25 - x[:, 0].min()
    assert theta[:, 0].min() > edge
    lower, upper = mean - 8 * deviation, mean + 8 * deviation
    lower[0] = max(lower[0], edge)
    axes = [
        a + (b - a) * (np.arange(cells) + 0.5) / cells for a, b in zip(lower, upper, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    log_f = log_density(grid, x)
    w = np.exp(log_f - special.logsumexp(log_f))
    unit, got = (grid - mean) / deviation, (theta - mean) / deviation
    functions = {
        "mean": lambda t: t,
        "square": lambda t: t**2,
        "product": lambda t: np.prod(t, axis=1, keepdims=True),
        "cube": lambda t: t**3,
        "quadrants": lambda t: (t[:, :1] > 0) & (t[:, 1:] > 0),
    }
    for name, f in functions.items():
        values = f(got).astype(float)
        # 4 standard errors of 20,000 samples, and the quadrature's own error
        np.testing.assert_array_less(
            np.abs(values.mean(axis=0) - w @ f(unit)),
            4 * values.std(axis=0) / n**0.5 + 3e-3,
            err_msg=name,
        )


def direct(x, n, seed=0):
    """Exact ``(|s|, d)`` given one observation: invert its equation at random ring points.

    Signed values of ``|s|`` below zero and parameters outside of the square are discarded.
    """
    rng = np.random.default_rng(seed)
    angle, r = rng.uniform(-np.pi / 2, np.pi / 2, n), rng.normal(0.1, 0.01, n)
    place = np.stack([0.25 + r * np.cos(angle) - x[0], x[1] - r * np.sin(angle)], axis=1)
    return place[(place[:, 0] > 0) & (place[:, 0] + np.abs(place[:, 1]) < 2**0.5)]


@pytest.mark.parametrize(
    "theta",
    [
        pytest.param((-0.8176656, -0.5756806), id="whole moons"),
        pytest.param((0.02, -0.03), id="moons that meet"),
        pytest.param((0.97, 0.96), id="cut at a corner"),
        pytest.param((0.2, 0.99), id="cut at a side"),
    ],
)
def test_one_observation_agrees_with_direct_draws(theta):
    (x,) = simulate(theta, 1, seed=3)
    exact = direct(x, 40_000)
    samples = TwoMoonsTask().posterior_samples(x[None], seed=1, n=20_000)["theta"]
    assert np.all(np.abs(samples) < 1)
    ours = turn(samples)
    for f in (lambda t: t[:, 0], lambda t: t[:, 1], lambda t: t[:, 0] + np.abs(t[:, 1])):
        test: Any = stats.ks_2samp(f(ours), f(exact))
        assert test.pvalue > 0.003  # twelve tests in all


@pytest.mark.parametrize("n_obs", [1, 100, 1000])
def test_both_moons_are_alike(n_obs):
    theta = np.asarray(TwoMoonsTask().reference(n_obs, 2)["theta"], float)
    right = theta.sum(axis=1) > 0
    assert stats.binomtest(int(right.sum()), len(right)).pvalue > 0.01
    for column in turn(theta).T:
        test: Any = stats.ks_2samp(column[right], column[~right])
        assert test.pvalue > 0.002


def test_large_sets_find_the_truth():
    """The edge alone leaves an exponential law of ``|s|`` with the scale ``0.1 pi / 2 N``."""
    task, n_obs = TwoMoonsTask(), 1000
    (truth,) = turn(task.truth["theta"][None])
    scale = 0.1 * np.pi / 2 / n_obs
    offsets = []
    for seed in range(5):
        theta = turn(task.reference(n_obs, seed, n=2000)["theta"])
        offsets.append((theta.mean(axis=0) - truth) / theta.std(axis=0))
        assert 0.3 * scale < theta[:, 0].std() < 1.2 * scale
    assert np.all(np.abs(offsets) < 4)


@pytest.mark.parametrize("x", [[[3.0, 0.0]], [[0.0, 2.0]], [[0.0, 0.0], [0.5, 0.0]]])
def test_impossible_observations_are_refused(x):
    with pytest.raises(ValueError, match="observed"):
        TwoMoonsTask().posterior_samples(x)
