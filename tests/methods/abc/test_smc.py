"""SMC-ABC against the exact ABC posterior."""

import numpy as np
import pytest

import pliant


def smc(**options):
    settings = {"rounds": 40, "n_particles": 2000, "discrepancy": pliant.Euclidean()}
    return pliant.SMCABC(**{**settings, **options})


@pytest.mark.parametrize("tolerance", [0.05, 1.0])
def test_meets_the_abc_posterior_at_a_tolerance(conjugate, tolerance):
    result = pliant.infer(conjugate.problem, smc(tolerance=tolerance), seed=0)
    assert result.status == "reached_tolerance"
    last = result.history[-1]
    assert last["bandwidth"] == tolerance
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    mean, sd = conjugate.moments(tolerance)
    # 2000 particles, some of them copies: as good as 500 independent ones, three errors
    assert draws.mean() == pytest.approx(mean, abs=0.13 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def test_smooth_kernels_meet_their_posterior(conjugate):
    """``exp(-(s - c)^2 / (2 h))`` adds the variance h to that of s: a conjugate posterior again."""
    h = 0.3
    method = smc(kernel=pliant.ExponentialKernel(), tolerance=h)
    draws = pliant.infer(conjugate.problem, method, seed=0).posterior.sample(50_000)["mu"]
    observed = np.asarray(conjugate.problem.observed)
    precision = 1 + 1 / (1 / len(observed) + h)
    mean, sd = observed.mean() * (precision - 1) / precision, precision**-0.5
    assert draws.mean() == pytest.approx(mean, abs=0.13 * sd)
    assert draws.std() == pytest.approx(sd, rel=0.1)


def test_nothing_to_learn_leaves_the_prior(uninformative):
    """Thirty rounds of reweighing, resampling and moving do not change the prior."""
    result = pliant.infer(uninformative, smc(rounds=30), seed=0)
    assert len(result.history) == 30
    draws = result.posterior.sample(50_000, seed=1)["mu"]
    assert draws.mean() == pytest.approx(0, abs=0.15)  # as above, for more rounds
    assert draws.std() == pytest.approx(1, rel=0.1)


def test_a_run_that_hardly_accepts_says_so(conjugate):
    result = pliant.infer(conjugate.problem, smc(rounds=60, min_acceptance=0.4), seed=0)
    assert result.status == "low_acceptance"
    assert "below 40.00%" in result.message
    assert "MHABC" in result.message
    assert result.history[-1]["acceptance"] < 0.4
    assert np.all(result.history["acceptance"][:-1] >= 0.4)
    assert np.all(np.diff(result.history["bandwidth"]) <= 0)
