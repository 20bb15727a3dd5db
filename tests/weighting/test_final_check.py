"""Weighed draws of a fit are draws of its target, as long as the check says so."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.densities.gaussian import GaussianDensity
from pliant.problem.prior import read_prior
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.weighting.final_check import final_check


def check_of(sd, n=4000):
    """Draws of N(0, sd), weighed for the target N(0.5, 1)."""
    z = np.random.default_rng(0).normal(0, sd, (n, 1))
    return final_check(z, (stats.norm.logpdf(z, 0.5, 1) - stats.norm.logpdf(z, 0, sd))[:, 0])


def result_of(check):
    space = read_prior(dist.Normal(0, 1)).space
    density = GaussianDensity(jnp.zeros(1), jnp.zeros(1), jnp.zeros((1, 1)))
    row = {"round": 1, "simulations": 1, "seconds": 1.0}
    return pliant.Result(
        posterior=Posterior(space, density),
        history=History([row]),
        status=pliant.Status.FINISHED,
        message="",
        method=pliant.PLI(family=pliant.Gaussian()),
        seed=0,
        observed_shape=(1,),
        check=check,
    )


def test_resampling_gives_the_target():
    check = check_of(sd=1.3)
    assert check.k_hat < 0.5
    assert "fits its target:" in check.message
    assert check.ess > 0.5 * 4000
    result = result_of(check)
    z = np.asarray(result.resampled().density.sample(jax.random.key(0), 20_000))
    error = 4 / check.ess**0.5  # four standard errors of a mean, in spreads of one
    assert z.mean() == pytest.approx(0.5, abs=error)
    assert z.std() == pytest.approx(1, abs=error)


def test_a_fit_that_is_too_narrow_is_told():
    check = check_of(sd=0.2)
    assert check.k_hat > 0.7
    assert "misses parts of its target" in check.message
    with pytest.raises(ValueError, match="cannot be trusted: k-hat"):
        result_of(check).resampled()


@pytest.mark.parametrize(
    ("sd", "said"),
    [(1.3, "fits its target:"), (3.0, "fits its target roughly"), (9.0, "is far wider than")],
)
def test_a_fit_that_is_wider_is_told_by_its_effective_size(sd, said):
    """k-hat alone calls every fit good that is wider than its target."""
    check = check_of(sd)
    assert check.k_hat < 0.5
    assert f"posterior {said}" in check.message
    assert f"ESS {check.ess:,.0f} of 4,000" in check.message


def test_without_a_check_there_is_nothing_to_resample():
    with pytest.raises(ValueError, match=r"no final check.*LikelihoodKL"):
        result_of(None).resampled()


@pytest.mark.parametrize("check", [check_of(1.3), None], ids=["checked", "unchecked"])
def test_a_check_survives_saving(check, tmp_path):
    folder = result_of(check).save(tmp_path / "run")
    loaded = pliant.load(folder).check
    shown = CliRunner().invoke(app, ["show", str(folder)]).output
    if check is None:
        assert loaded is None
        assert "its target" not in shown
    else:
        assert loaded.message == check.message
        assert check.message in shown
        np.testing.assert_array_equal(loaded.z, check.z)
        np.testing.assert_array_equal(loaded.log_weights, check.log_weights)
