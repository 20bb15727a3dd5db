import jax
import jax.numpy as jnp
import pytest

from known_posteriors import Known, clean, problem_of, result_of
from pliant.diagnosis.failed_draws import check_failed_draws


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
