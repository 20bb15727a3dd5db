"""Short texts and escaped HTML of results and their parts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from pliant.densities.gaussian import Gaussian
from pliant.methods.status import Status
from pliant.problem.prior import read_prior
from pliant.run.failures import Failure
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.result import Result
from pliant.run.show import parameters_text
from pliant.weighting.final_check import final_check

NAMES = ("<script>", "v")
ROWS = [{"round": 1, "ess": 10.0, "eta": None}, {"round": 2, "simulations": 3000, "seconds": 7.0}]


@functools.cache
def result():
    prior = read_prior({NAMES[0]: dist.Normal(0, 1), "v": dist.Normal(0, 1).expand([2])})
    z = prior.sample(jax.random.key(0), 200)
    density, _ = Gaussian().fit(jax.random.key(1), z, jnp.zeros(200), None)
    return Result(
        Posterior(prior.space, density),
        History(ROWS),
        Status.CONVERGED,
        "It is <b>done</b>.",
        pliant.PLI(),
        3,
        (5, 2),
        (Failure("crash", 2, "<img src=x>", {"v": 1.0}),),
        final_check(np.asarray(z), np.zeros(200)),
        "A <reason>.",
    )


def test_a_result_is_a_few_lines_without_weights():
    lines = repr(result()).splitlines()
    assert lines[:4] == [
        "Result",
        "  converged: It is <b>done</b>.",
        "  PLI, seed 3: 2 rounds, 3,000 simulations, 7 s",
        "  Posterior(GaussianDensity over <script>, v[2])",
    ]
    assert len(lines) == 5
    assert result().check.message in lines[4]


def test_a_result_in_a_notebook_is_escaped_and_has_the_numbers():
    html = result()._repr_html_()
    for tag in ("<script", "<b>", "<img", "<reason"):
        assert tag not in html
    summary = result().posterior.summary()
    for text in ("&lt;script&gt;", "v[1]", f"{summary.mean[0]:.4g}", "A &lt;reason&gt;."):
        assert text in html
    assert "failed draws: 2 crash" in html
    assert "<details><summary>History: 2 rounds</summary>" in html


def test_a_posterior_and_its_summary_in_a_notebook():
    posterior = result().posterior
    summary = posterior.summary()
    for html in (posterior._repr_html_(), summary._repr_html_()):
        assert "<script" not in html
        assert f"{summary.sd[2]:.4g}" in html


def test_a_history_in_a_notebook_has_its_filled_columns():
    html = History([*ROWS, {"round": 3, "<u>": 1.0}])._repr_html_()
    assert "eta" not in html
    assert "&lt;u&gt;" in html
    assert "3,000" in html


def test_many_parameters_are_cut():
    prior = read_prior({f"p{i}": dist.Normal(0, 1) for i in range(11)})
    assert parameters_text(prior.space).endswith("p6, p7 and 3 more")
