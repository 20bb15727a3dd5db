import jax
import numpy as np
import pytest

from pliant.tasks.gaussian_location import GaussianLocationTask


def test_simulator_moments():
    task = GaussianLocationTask()
    x = np.asarray(
        jax.vmap(lambda k: task.simulator(k, task.truth))(
            jax.random.split(jax.random.key(0), 40_000)
        )
    )
    # standard errors: sqrt(0.1 / 4e4) = 0.0016 for means, 0.1 / sqrt(4e4) = 5e-4 for covariances
    np.testing.assert_allclose(x.mean(axis=0), task.truth["theta"], atol=0.007)
    np.testing.assert_allclose(np.cov(x.T), 0.1 * np.eye(10), atol=0.003)


@pytest.mark.parametrize("n_obs", [1, 10, 1000])
def test_reference_matches_bayes_rule(n_obs):
    """Mean and variance by adding precisions, for the prior and each observation in turn."""
    task = GaussianLocationTask()
    x = np.asarray(task.observed(n_obs, 4), float)
    mean, precision = np.zeros(10), 10.0
    for row in x:
        mean, precision = (precision * mean + 10.0 * row) / (precision + 10.0), precision + 10.0
    theta = np.asarray(task.reference(n_obs, 4, n=20_000)["theta"], float)
    scale = precision**-0.5
    # in units of the posterior's scale: 1 / sqrt(2e4) = 0.007 for means, 0.005 for deviations
    np.testing.assert_allclose((theta.mean(axis=0) - mean) / scale, 0.0, atol=0.035)
    np.testing.assert_allclose(theta.std(axis=0) / scale, 1.0, atol=0.025)
    off = np.corrcoef(theta.T)[np.triu_indices(10, 1)]
    np.testing.assert_allclose(off, 0.0, atol=0.035)
