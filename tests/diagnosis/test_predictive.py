"""Statistics of residuals, against the data that they should notice."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from known_posteriors import clean, gaussian, known
from pliant.diagnosis.evidence import gather
from pliant.diagnosis.predictive import check_predictive, feature_names
from pliant.run.posterior import Posterior


def found_of(observed, statistics=None):
    return check_predictive(known(observed).evidence(), statistics or {})


def test_sound_data_pass(evidence):
    found, (finding,) = check_predictive(evidence, {})
    assert finding.level == "ok"
    assert len(found.names) == len(found.observed) == len(found.deviation) == 11
    assert found.features == ("x[0]", "x[1]")
    np.testing.assert_allclose(found.covered, [[0.5, 0.9]] * 2, atol=0.2)  # of 30 observations


def heavy(x):
    x = x.copy()
    x[0] += 8.0
    return x


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: x.mean(axis=0) + 2 * (x - x.mean(axis=0)), "width of x[0]"),
        (heavy, "tails"),
        (lambda x: np.stack([x[:, 0], x[:, 0] - 1.5], axis=1), "correlation of x[0] and x[1]"),
    ],
    ids=["width", "tails", "dependence"],
)
def test_the_message_says_what_does_not_fit(change, told):
    found, (finding,) = found_of(change(clean()))
    assert finding.level == "doubtful"
    assert found.p_value < 0.01
    worst = [found.names[i] for i in np.argsort(-np.abs(found.deviation))[:4]]
    assert any(told in name for name in worst), worst


def test_statistics_of_a_user_are_compared_too():
    def rank(x):
        return np.argmax(x[:, 0]) < 5

    def drift(x):
        return np.corrcoef(np.arange(len(x)), x[:, 0])[0, 1]

    x = clean()
    ordered = x[np.argsort(x[:, 0])]
    found, (finding,) = found_of(ordered, {"drift": drift, "two": lambda x: x[:2, 0], "rank": rank})
    assert found.names[-4:] == ("drift", "two[0]", "two[1]", "rank")
    assert finding.level == "doubtful"
    assert "drift" in finding.text
    plain, (finding,) = found_of(x, {"drift": drift})
    assert finding.level == "ok"
    assert plain.observed[-1] == pytest.approx(drift(x), rel=1e-5)


def test_a_statistic_that_fails_is_named(evidence):
    with pytest.raises(ValueError, match=r"statistics\['bad'\]: .* ZeroDivisionError"):
        check_predictive(evidence, {"bad": lambda x: 1 / 0})


def test_residuals_are_those_under_the_own_condition():
    """A wrong slope shows as a correlation with the condition."""
    c = np.linspace(-2, 2, 40, dtype=np.float32)

    def simulator(key, theta, condition):
        return theta["mu"] * condition + 0.3 * jax.random.normal(key, (1,))

    y = 1.5 * c[:, None] + 0.3 * np.random.default_rng(0).standard_normal((40, 1))
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, y, conditions=c)
    for slope, level in ((1.5, "ok"), (1.0, "doubtful")):
        centre = np.asarray(problem.prior.space.unconstrain({"mu": np.float32(slope)}))
        density = gaussian(centre, np.eye(1) * 0.02)
        posterior = Posterior(problem.prior.space, density)
        evidence = gather(jax.random.key(0), problem, posterior, None)
        _, (finding,) = check_predictive(evidence, {})
        assert finding.level == level
    assert "correlation of x[0] with condition 0" in finding.text


def test_features_of_dicts_have_their_names():
    observed = {"a": np.zeros((5, 2)), "b": np.zeros(5)}

    def simulator(key, theta):
        x = theta["mu"] + jax.random.normal(key, (3,))
        return {"a": x[:2], "b": x[2]}

    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, observed)
    assert feature_names(problem) == ("a[0]", "a[1]", "b")
