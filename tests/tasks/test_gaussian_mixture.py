import jax
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks.gaussian_mixture import GaussianMixtureTask


def test_simulator_moments():
    task = GaussianMixtureTask()
    keys = jax.random.split(jax.random.key(0), 100_000)
    draws = jax.vmap(lambda key: task.simulator(key, task.truth))(keys)
    x = np.asarray(draws, float) - np.asarray(task.truth["theta"], float)
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=0.012)  # standard error 0.0022
    # (1 + 0.01) / 2, and standard error 0.0035
    np.testing.assert_allclose(np.cov(x.T), 0.505 * np.eye(2), atol=0.015)
    np.testing.assert_allclose(np.mean(x**4, axis=0), 1.5 * (1 + 1e-4), atol=0.11)
    # one coin for both coordinates: E x^2 y^2 = (1 + 1e-4) / 2 and not 0.505^2
    assert np.mean(x[:, 0] ** 2 * x[:, 1] ** 2) == pytest.approx(0.5, abs=0.03)


def log_likelihood(theta, x):
    """From the definition, with scipy."""
    total = np.zeros(len(theta))
    for point in x:
        wide = stats.norm.logpdf(theta, point, 1.0).sum(axis=1)
        narrow = stats.norm.logpdf(theta, point, 0.1).sum(axis=1)
        total += special.logsumexp([wide, narrow], axis=0)
    return total


@pytest.mark.parametrize(("n_obs", "reach"), [(1, 6.0), (3, 5.0), (100, 0.15)])
def test_reference_matches_quadrature(n_obs, reach):
    """The midpoint rule on a million cells: about six to each narrow deviation."""
    task, n = GaussianMixtureTask(), 20_000
    x = np.asarray(task.observed(n_obs, 1), float)
    theta = np.asarray(task.reference(n_obs, 1, n=n)["theta"], float)
    middle = np.median(x, axis=0)
    lower, upper = (np.clip(middle + side, -10, 10) for side in (-reach, reach))
    cells = 1000 if n_obs < 10 else 150
    axes = [
        a + (b - a) * (np.arange(cells) + 0.5) / cells for a, b in zip(lower, upper, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    log_f = log_likelihood(grid, x)
    w = np.exp(log_f - special.logsumexp(log_f))

    functions = {
        "mean": lambda t: t,
        "square": lambda t: (t - theta.mean(axis=0)) ** 2,
        "product": lambda t: np.prod(t - theta.mean(axis=0), axis=1, keepdims=True),
        "narrow modes": lambda t: np.stack(
            [np.linalg.norm(t - point, axis=1) < 0.15 for point in x[:5]], axis=1
        ),
    }
    for name, f in functions.items():
        got = f(theta).astype(float)
        error = got.std(axis=0) / n**0.5
        # 4 standard errors of 20,000 samples, and the quadrature's own error
        np.testing.assert_array_less(
            np.abs(got.mean(axis=0) - w @ f(grid)),
            4 * error + 2e-3 * got.std(axis=0) + 1e-5,
            err_msg=name,
        )


def test_prior_bounds_cut_the_posterior():
    """One observation at the edge: half of each Gaussian, so a known mean."""
    theta = GaussianMixtureTask().posterior_samples([[-10.0, 0.0]], n=20_000)["theta"]
    assert theta[:, 0].min() >= -10
    # the mean of a half-normal is sqrt(2 / pi); the narrow and the wide one weigh the same
    wanted = -10 + (1.0 + 0.1) / 2 * (2 / np.pi) ** 0.5
    assert theta[:, 0].mean() == pytest.approx(wanted, abs=5 * 0.55 / 20_000**0.5)


def test_observations_far_outside_of_the_prior_are_refused():
    with pytest.raises(ValueError, match="observed"):
        GaussianMixtureTask().posterior_samples([[30.0, 0.0]])
