import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from known_posteriors import Known, clean, problem_of, result_of
from pliant.diagnosis.failed_draws import can_compare, check_failed_draws


def found(share):
    """A simulator that fails, more often where mu[0] is large."""

    def simulator(key, theta):
        x = theta["mu"] + jax.random.normal(key, (2,))
        failed = jax.random.uniform(jax.random.fold_in(key, 1)) < share * (theta["mu"][0] > 0.5)
        return jnp.where(failed, jnp.nan, x)

    problem = problem_of(clean(), simulator)
    (finding,) = check_failed_draws(Known(problem, result_of(problem)).evidence())
    return finding


@pytest.mark.parametrize(("share", "level"), [(0.0, "ok"), (0.04, "note"), (0.5, "doubtful")])
def test_the_share_of_failed_draws(share, level):
    finding = found(share)
    assert finding.level == level
    if level == "doubtful":
        assert "large mu[0]" in finding.text
        assert "narrow the prior" in finding.remedy


def test_a_simulator_that_fails_everywhere_leaves_no_data_to_compare():
    problem = problem_of(clean(), lambda key, theta: jnp.full(2, jnp.nan))
    found = pliant.diagnose(result_of(problem), problem, progress=lambda text: None)
    assert found.verdict == "unsound"
    finding = found.findings[-1]
    assert (finding.check, finding.level, finding.number) == ("simulator", "unsound", 1.0)
    assert "100.0% of the draws failed" in finding.text
    assert found.observations is found.predictive is found.calibration is None


@pytest.mark.parametrize(
    ("usable", "expected"), [(range(200), True), ([0, 199], True), ([0], False), ([], False)]
)
def test_both_halves_need_a_usable_draw(exact, usable, expected):
    evidence = exact.evidence()
    ok = np.isin(np.arange(200), list(usable))[:, None] & np.ones(30, bool)
    sets = evidence.sets._replace(ok=ok)
    assert can_compare(dataclasses.replace(evidence, sets=sets)) == expected
