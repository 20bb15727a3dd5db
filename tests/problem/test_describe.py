import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.describe import distribution_text


@pytest.mark.parametrize(
    ("distribution", "text"),
    [
        (dist.Normal(0, 5.5), "Normal(loc=0, scale=5.5)"),
        (dist.LogNormal(0.0, 1.0), "LogNormal(loc=0, scale=1)"),
        (dist.HalfNormal(3.0), "HalfNormal(scale=3)"),
        (dist.Gamma(2.0, 0.5), "Gamma(concentration=2, rate=0.5)"),
        (dist.InverseGamma(2.0, 0.5), "InverseGamma(concentration=2, rate=0.5)"),
        (dist.Dirichlet(jnp.ones(3)), "Dirichlet(concentration=[1, 1, 1])"),
        (dist.Normal(0, 1).expand([2]).to_event(1), "Normal(loc=0, scale=1) of the shape (2,)"),
        (dist.Normal(jnp.zeros(9), 1), "Normal(loc=array of the shape (9,), scale="),
        (dist.TruncatedNormal(0, 1, low=0.0), "LeftTruncatedDistribution(Normal("),
    ],
)
def test_a_distribution_in_words(distribution, text):
    found = distribution_text(distribution)
    assert found.startswith(text) if text.endswith(("(", "=")) else found == text


def step(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))


def test_a_problem_in_a_few_lines():
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, step, np.ones((3, 2)))
    assert repr(problem).splitlines() == [
        "Problem",
        "  prior: mu ~ Normal(loc=0, scale=1)",
        "  simulator: JAX function step",
        "  observed: 3 observations of the shape (2,)",
        "  scale: auto",
    ]


def test_a_problem_with_everything_in_html():
    prior = {f"<b>{i}": dist.Normal(0, 1) for i in range(10)}
    observed = {"<i>rt": np.array([1.0, np.nan]), "choice": np.array([0.0, 1.0])}
    problem = pliant.Problem(
        prior,
        pliant.PythonSimulator(lambda rng, theta, dose: observed),
        observed,
        conditions={"dose": np.arange(2.0)},
        missing=True,
        scale=np.ones(2),
    )
    html = problem._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    for text in (
        "&lt;b&gt;7 ~ Normal",
        "and 2 more",
        "Python function &lt;lambda&gt;",
        "2 observations of &lt;i&gt;rt (), choice (), of which 25.0% was not measured",
        "dose",
        "as given",
    ):
        assert text in html


def test_a_program_is_shown_by_its_command():
    program = pliant.CommandSimulator(["echo", "a b", "{mu}"])
    assert program.label.startswith("program /")
    assert program.label.endswith("echo 'a b' '{mu}'")
