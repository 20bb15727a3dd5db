import jax
import numpy as np
import pytest
from scipy import integrate, stats

from pliant.tasks.regression import RegressionTask

TASK = RegressionTask()


def test_draws_lie_on_the_line_with_its_noise():
    keys = jax.random.split(jax.random.key(0), 20_000)
    y = np.asarray(jax.vmap(lambda key: TASK.simulator(key, TASK.truth, 1.5))(keys))
    assert abs(y.mean() - (0.5 - 1.2 * 1.5)) < 4 * 0.7 / 20_000**0.5
    assert abs(y.std() - 0.7) < 4 * 0.7 / 40_000**0.5


def test_more_observations_begin_with_the_fewer():
    few, many = TASK.conditions(7, seed=3), TASK.conditions(150, seed=3)
    np.testing.assert_array_equal(few, many[:7])
    np.testing.assert_array_equal(TASK.observed(7, seed=3), TASK.observed(150, seed=3)[:7])
    assert np.all(np.abs(many) <= 2)
    assert len(np.unique(many)) == 150


def test_the_reference_agrees_with_quadrature():
    """Of all three parameters, for five points, without the closed form."""
    c, y = (
        np.asarray(TASK.conditions(5, seed=1), float),
        np.asarray(TASK.observed(5, seed=1), float),
    )
    axes = [np.linspace(-3, 3, 81), np.linspace(-4, 2, 81), np.linspace(-3, 2, 121)]
    a, b, s = np.meshgrid(*axes, indexing="ij")
    log_p = -(a**2 + b**2) / 8 - s**2 / 2
    for place, value in zip(c, y, strict=True):
        log_p = log_p + stats.norm.logpdf(value, a + b * place, np.exp(s))
    p = np.exp(log_p - log_p.max())
    found = TASK.posterior_samples(y, conditions=c, seed=0, n=40_000)
    for name, values in (("intercept", a), ("slope", b), ("sigma", np.exp(s))):
        mean = _mean(p, values, axes)
        deviation = _mean(p, (values - mean) ** 2, axes) ** 0.5
        assert abs(found[name].mean() - mean) < 0.03 * deviation
        assert abs(found[name].std() / deviation - 1) < 0.03


def _mean(p, values, axes):
    total = lambda f: integrate.simpson(  # noqa: E731
        integrate.simpson(integrate.simpson(f, x=axes[2]), x=axes[1]), x=axes[0]
    )
    return total(p * values) / total(p)


def test_conditions_are_checked():
    with pytest.raises(ValueError, match="conditions: expected 3 finite numbers"):
        TASK.posterior_samples(np.zeros(3), conditions=np.zeros(2))
