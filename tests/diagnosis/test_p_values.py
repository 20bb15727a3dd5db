"""P-values under the null are uniform or larger; rare values get the probability that they have."""

import numpy as np
import pytest
from scipy import stats

from pliant.diagnosis.p_values import adjusted, deviations, joint_p_value, tail_probabilities

RNG = np.random.default_rng


def test_a_set_like_the_others_is_doubted_at_the_stated_rate():
    rng, n = RNG(0), 2000
    p = np.empty(n)
    for i in range(n):
        draws = rng.standard_normal((100, 5)) + rng.standard_normal((100, 1))  # dependent
        p[i] = joint_p_value(draws[0], draws[1:])[0]
    for level in (0.01, 0.05, 0.5):  # binomial error of 2000 sets, three deviations
        error = 3 * np.sqrt(level * (1 - level) / n)
        assert abs(np.mean(p <= level) - level) < error, level


def test_one_statistic_that_is_off_is_found_among_many():
    rng = RNG(1)
    replicated = rng.standard_normal((200, 50))
    observed = rng.standard_normal(50)
    observed[7] = 6.0
    p, off = joint_p_value(observed, replicated)
    assert p == pytest.approx(1 / 201)
    assert np.argmax(np.abs(off)) == 7


def test_only_large_distances_are_unlike_the_others():
    replicated = RNG(2).standard_normal((200, 1))
    assert joint_p_value(np.array([-9.0]), replicated, upper=[0])[0] == 1.0
    assert joint_p_value(np.array([9.0]), replicated, upper=[0])[0] < 0.01
    assert joint_p_value(np.array([-9.0]), replicated)[0] < 0.01


def test_statistics_that_are_constant_or_not_finite():
    replicated = np.stack([np.ones(50), np.full(50, np.nan), RNG(3).standard_normal(50)], axis=1)
    own, others = deviations(np.array([1.0, 2.0, 0.1]), replicated)
    assert list(own[:2]) == [0.0, 0.0]
    assert np.all(others[:, :2] == 0)
    own, _ = deviations(np.array([1.5, 2.0, 0.1]), replicated)
    assert own[0] == np.inf
    assert joint_p_value(np.array([1.5, 2.0, 0.1]), replicated)[0] == pytest.approx(1 / 51)


@pytest.mark.parametrize(
    ("distribution", "value"),
    [(stats.chi2(10), 40.0), (stats.expon(), 12.0), (stats.t(4), 12.0)],
    ids=["loss of a normal", "exponential", "t"],
)
def test_a_tail_is_continued(distribution, value):
    """Within a factor of five of a probability of 1e-5 or so, from 20,000 draws."""
    sample = distribution.rvs(20_000, random_state=4)
    p = float(tail_probabilities(sample, np.array([value]))[0])
    exact = distribution.sf(value)
    assert exact / 5 < p < 5 * exact
    middle = np.quantile(sample, [0.2, 0.5, 0.8])
    np.testing.assert_allclose(tail_probabilities(sample, middle), [0.8, 0.5, 0.2], atol=0.001)


def test_probabilities_fall_as_values_grow():
    sample = RNG(5).standard_normal(1000)
    p = tail_probabilities(sample, np.linspace(-5, 20, 200))
    assert np.all(np.diff(p) <= 0.003)  # the fitted tail need not meet the sample's exactly
    assert p[-1] < 1e-6 < p[0] <= 1
    assert tail_probabilities(np.arange(10.0), np.array([100.0]))[0] == pytest.approx(1 / 11)


def test_p_values_of_many_questions():
    p = np.array([0.5, 0.001, 0.02])
    np.testing.assert_allclose(adjusted(p), [0.5, 0.003, 0.04])
    rng = RNG(6)
    accused = [np.any(adjusted(rng.random(50)) < 0.05) for _ in range(2000)]
    assert abs(np.mean(accused) - 0.05) < 0.015
