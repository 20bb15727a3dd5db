import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.methods.status import Status
from pliant.plots.history import plot_history
from pliant.plots.pairs import plot_pairs
from pliant.problem.prior import read_prior
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.result import Result

ROWS = [{"round": 1, "kl": 0.4, "ess": 10.0}, {"round": 2, "kl": 0.5, "ess": 12.0}]


@pytest.fixture(scope="module")
def result():
    prior = read_prior({"a": dist.Normal(0, 1), "b": dist.Normal(0, 1)})
    density, _ = pliant.Gaussian().fit(
        jax.random.key(1), prior.sample(jax.random.key(0), 100), jnp.zeros(100), None
    )
    posterior = Posterior(prior.space, density)
    return Result(posterior, History(ROWS), Status.FINISHED, "", pliant.PLI(), 3, (5, 2))


def pixels(figure):
    figure.set_dpi(20)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_a_posterior_draws_its_pairs(result):
    figure = result.posterior.plot(50, seed=3, truth={"a": 0.0, "b": 1.0}, title="mine")
    draws = result.posterior.sample(50, seed=3)
    expected = plot_pairs(draws, truth={"a": 0.0, "b": 1.0}, title="mine")
    np.testing.assert_array_equal(pixels(figure), pixels(expected))
    same = result.plot(50, truth={"a": 0.0, "b": 1.0}, title="mine")  # with the seed of the run
    np.testing.assert_array_equal(pixels(same), pixels(expected))


def test_an_unknown_option_is_an_error(result):
    with pytest.raises(TypeError, match="colour"):
        result.plot(colour="red")


def test_a_result_draws_its_history_with_the_limits_of_its_method(result):
    expected = plot_history(
        History(ROWS),
        epsilon=result.method.schedule.epsilon,
        noise_limit=result.method.noise_limit,
    )
    np.testing.assert_array_equal(pixels(result.plot_history()), pixels(expected))
