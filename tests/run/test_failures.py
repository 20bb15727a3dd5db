import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.run.failures import Failure, added, where_it_fails


def test_the_region_of_failures_is_told():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(400, 3))
    failing = np.where(theta[:, 1] > 0.8, 0.95, 0.02)
    words = where_it_fails(["a", "b", "c"], theta, failing)
    assert words.startswith("They lie mostly at b above ")
    threshold = float(words.split("above ")[1].split(",")[0])
    assert abs(threshold - 0.8) < 0.2
    below = where_it_fails(["a", "b", "c"], theta, np.where(theta[:, 2] < -0.5, 1.0, 0.0))
    assert "c below" in below
    everywhere = where_it_fails(["a", "b", "c"], theta, np.full(400, 0.97))
    assert everywhere == "97% of all draws fail, whatever the parameters."


def test_the_first_example_of_a_kind_stays():
    failures = added((), "timeout", 2, "slow", {"mu": 1.0})
    failures = added(failures, "exception", 1, "ValueError: no\nFile ...", {"mu": [1.0, 2.0]})
    failures = added(failures, "timeout", 3, "slower", {"mu": 2.0})
    assert failures[0] == Failure("timeout", 5, "slow", {"mu": 1.0})
    assert str(failures[1]) == "1 exception (first at mu=[1. 2.]: ValueError: no)"


@pytest.mark.parametrize(
    ("message", "parameters", "text"),
    [
        ("", {"mu": 1.0}, "3 not finite (first at mu=1.)"),
        ("\n", {}, "3 not finite"),
        ("slow", {}, "3 not finite (slow)"),
    ],
)
def test_what_is_not_known_is_left_out(message, parameters, text):
    assert str(Failure("not finite", 3, message, parameters)) == text


def test_a_run_that_fails_says_where():
    """A JAX simulator that is not finite for nearly all of the prior."""
    problem = pliant.Problem(
        {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        lambda key, theta: jnp.where(theta["mu"] < -9, jnp.ones(2), jnp.nan),
        np.random.default_rng(0).normal(size=(30, 2)),
    )
    method = pliant.PLI(
        rounds=2, n_particles=100, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
    )
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = pliant.infer(problem, method)
    assert result.status == "failed"
    assert "not finite (first at mu=" in result.message
    assert result.failures[0].draws > 800
    assert "fail" in result.message.split("Failures:")[1]
