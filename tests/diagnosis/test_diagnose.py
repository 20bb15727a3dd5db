"""The whole of ``pliant.diagnose``: verdicts of right and wrong posteriors, and of every end."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from known_posteriors import ROW, NormalLikelihood, clean, known
from pliant.run.history import History
from pliant.run.posterior import Posterior


def verdict(case, **options):
    found = pliant.diagnose(case.result, case.problem, progress=lambda text: None, **options)
    levels = {finding.check: finding.level for finding in found.findings}
    return found.verdict, levels


def test_an_exact_posterior_is_sound(exact):
    steps = []
    found = pliant.diagnose(exact.result, exact.problem, progress=steps.append)
    assert found.verdict == "sound"
    assert steps[0] == "simulating 200 sets of 30"
    assert len(found.findings) == 15


@pytest.mark.parametrize(
    "options",
    [
        {"shift": 1.0},
        {"stretch": 2.0},
        {"stretch": 0.5},
        {"likelihood": NormalLikelihood(bias=0.2), "shift": -1.1},
        {"history": History([{**ROW, "eta": 5.0}]), "status": pliant.Status.CUT_SHORT},
        {"status": pliant.Status.NOISE_LIMITED},
    ],
    ids=["moved", "wide", "narrow", "wrong likelihood", "cut short", "noise"],
)
def test_a_wrong_posterior_is_not(options):
    assert verdict(known(**options))[0] in ("doubtful", "unsound")


def test_outliers_are_found():
    x = clean(n_obs=100)
    x[:5] += 7.0
    found, levels = verdict(known(x))
    assert found in ("doubtful", "unsound")
    assert levels["observations"] == "doubtful"


def test_a_run_without_a_posterior_is_unsound(exact):
    posterior = Posterior(exact.problem.prior.space, exact.problem.prior)
    case = known(status=pliant.Status.FAILED, posterior=posterior, history=History([]))
    found, levels = verdict(case)
    assert found == "unsound"
    assert levels == {"arrived": "unsound"}


def test_a_method_without_a_likelihood_says_what_does_not_apply():
    """Nobody knows whether its posterior has the right width, so that it is doubtful."""
    found, levels = verdict(known(likelihood=None))
    assert found == "doubtful"
    assert {check for check, level in levels.items() if level == "doubtful"} == {"calibration"}
    for check in ("fit", "other modes"):
        assert levels[check] == "skipped"
    for check in ("misfit", "observations", "predictive", "simulator"):
        assert levels[check] == "ok"


def test_the_same_seed_gives_the_same_diagnosis(exact):
    a, b, c = (
        pliant.diagnose(exact.result, exact.problem, seed=seed, progress=lambda text: None)
        for seed in (1, 1, 2)
    )
    assert a.as_dict() == b.as_dict() != c.as_dict()


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"result": None}, TypeError, "result: expected"),
        ({"problem": 3}, TypeError, "problem: expected"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 0.5}, TypeError, "seed"),
        ({"reruns": -1}, ValueError, "reruns"),
        ({"workers": 0}, ValueError, "workers"),
        ({"statistics": [np.mean]}, TypeError, "statistics: expected a dict"),
        ({"statistics": {"a": 3}}, TypeError, "statistics: expected a dict"),
    ],
)
def test_wrong_arguments(exact, change, error, message):
    options = {"result": exact.result, "problem": exact.problem, **change}
    with pytest.raises(error, match=message):
        pliant.diagnose(options.pop("result"), options.pop("problem"), **options)


def test_another_problem_is_refused(exact):
    other = known(clean(n_obs=7)).problem
    with pytest.raises(ValueError, match=r"shape \(30, 2\), as the run had, got \(7, 2\)"):
        pliant.diagnose(exact.result, other)
    renamed = pliant.Problem(
        {"nu": dist.Normal(0, 1)},
        lambda key, theta: theta["nu"] + jax.random.normal(key, (2,)),
        clean(),
    )
    with pytest.raises(ValueError, match="expected the parameters"):
        pliant.diagnose(exact.result, renamed)
