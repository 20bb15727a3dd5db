"""The defaults against exact posteriors, and the noise that must not be contracted on.

These runs are long: they are compiled with optimisation (``make long``).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant


def compare(task_name, n_obs, method):
    """(offset of each mean in exact sd, ratio of each sd, result, our samples)."""
    task = pliant.tasks.get(task_name)
    result = pliant.infer(task.problem(n_obs=n_obs, seed=0), method, seed=0)
    ours = result.posterior.sample(10_000, seed=1)["theta"]
    exact = np.asarray(task.reference(n_obs=n_obs, seed=0)["theta"])
    fold = _fold if task_name == "slcp" else np.asarray
    a, b = fold(ours), fold(exact)
    return (a.mean(0) - b.mean(0)) / b.std(0), a.std(0) / b.std(0), result, ours


def _fold(theta):
    """SLCP does not know the signs of theta_3 and theta_4."""
    return np.concatenate([theta[:, :2], np.abs(theta[:, 2:4]), theta[:, 4:]], axis=1)


# A third of the time with a smaller flow and fewer parameters; SLCP has the defaults.
@pytest.mark.parametrize(
    ("n_obs", "family", "most_off", "most_ratio"),
    [(100, pliant.SplineFlow(layers=2, width=32), 0.6, 1.35), (10, pliant.Gaussian(), 0.8, 1.5)],
)
def test_gaussian_location(n_obs, family, most_off, most_ratio):
    method = pliant.PLI(n_particles=2000, discrepancy=pliant.MMD(), family=family)
    off, ratio, result, _ = compare("gaussian_location", n_obs, method)
    assert result.status in ("finished", "noise_limited", "cut_short")
    assert np.abs(off).max() < most_off
    assert np.abs(np.log(ratio)).max() < np.log(most_ratio)


def test_noise_stops_the_papers_bandwidth_at_ten_draws():
    """M = N = 10 and beta = 5e-4 would contract to a third of the exact width."""
    method = pliant.PLI(n_draws=10, beta=5e-4, discrepancy=pliant.MMD(), family=pliant.Gaussian())
    _, ratio, result, _ = compare("gaussian_location", 10, method)
    assert result.status == "noise_limited"
    assert "n_draws=40" in result.message
    assert ratio.min() > 0.5


def test_a_calibrated_bandwidth_gives_the_width_of_the_resampled_mean():
    """The minimum of MMD over shifts is nearly the mean, whose variance is that of x over N."""
    n_obs, noise = 20, 0.5

    def simulator(key, theta):
        return theta["mu"] + noise * jax.random.normal(key, (2,))

    x = jnp.array([[0.7, -0.4]]) + noise * jax.random.normal(jax.random.key(5), (n_obs, 2))
    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    problem = pliant.Problem(prior, simulator, x, scale=None)
    method = pliant.PLI(
        rounds=14,
        n_particles=2000,
        n_draws=200,
        beta="calibrated",
        discrepancy=pliant.MMD(),
        family=pliant.Gaussian(),
    )
    result = pliant.infer(problem, method, seed=0)
    assert result.history["beta"][0] == pytest.approx(0.05 / n_obs)
    resolved: Any = result.method.resolved(problem)
    assert resolved.beta == "calibrated"
    expected = np.asarray(problem.observed).std(axis=0) / n_obs**0.5
    found = result.posterior.sample(20_000, seed=1)["mu"].std(axis=0)
    # one bandwidth for both coordinates, whose spreads differ; 2000 draws leave some per cent
    assert np.mean(found / expected) == pytest.approx(1, abs=0.15)


def test_slcp_keeps_all_four_modes():
    off, ratio, result, ours = compare("slcp", 100, pliant.PLI(discrepancy=pliant.MMD()))
    assert result.status in ("finished", "noise_limited", "cut_short")
    quadrants = [
        np.mean((np.sign(ours[:, 2]) == i) & (np.sign(ours[:, 3]) == j))
        for i in (-1, 1)
        for j in (-1, 1)
    ]
    assert min(quadrants) > 0.18
    assert max(quadrants) < 0.32
    assert np.abs(off[:4]).max() < 1
    assert np.abs(np.log(ratio[:2])).max() < np.log(2)
    # Noise ends the run at six to seven times the target bandwidth, with which widths grow as the
    # root. MMD itself leaves the last parameter too wide: 0.8 to 1.4 times that, in six runs.
    assert ratio[2:].min() > 1
    assert ratio[2:].max() < 1.6 * np.sqrt(1 + result.history[-1]["eta"])
