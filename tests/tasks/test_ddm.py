import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from pliant.tasks.ddm import DriftDiffusionTask, log_density, scaled_cdf

TASK = DriftDiffusionTask()


def wiener(t, v, a, w, terms=200):
    """The first passage through zero by the series of Feller (1968), summed at length."""
    k = np.arange(1, terms)[:, None]
    series = k * np.exp(-(k**2) * np.pi**2 * t / (2 * a**2)) * np.sin(k * np.pi * w)
    return np.pi / a**2 * np.exp(-v * a * w - v**2 * t / 2) * series.sum(axis=0)


@pytest.mark.parametrize("theta", [(0.3, 1.5, 1.4, 0.3), (-1.0, 0.5, 2.5, 0.1), (0.0, 0.0, 0.8, 0)])
@pytest.mark.parametrize("stimulus", [-1.0, 0.5])
def test_the_density_is_the_long_series(theta, stimulus):
    v0, v1, boundary, delay = theta
    t = np.linspace(0.05, 3, 60) * boundary**2 / 2
    drift = v0 + v1 * stimulus
    for choice, v in ((0, drift), (1, -drift)):  # zero is below, or above in the mirror
        given = (np.array(theta)[:, None], np.full(60, choice), t + delay, np.full(60, stimulus))
        found = np.exp(log_density(*given))
        np.testing.assert_allclose(found, wiener(t, v, boundary, 0.5), rtol=1e-8)


def test_the_density_of_both_choices_integrates_to_one():
    theta = np.array([0.3, 1.5, 1.4, 0.3])[:, None]
    one = np.ones(1)

    def density(t, choice):
        return np.exp(log_density(theta, choice * one, t * one, 0.5 * one)).item()

    total = sum(integrate.quad(density, 0.3, 30, (choice,), limit=200)[0] for choice in (0, 1))
    assert total == pytest.approx(1, abs=1e-6)
    assert density(0.29, 1) == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.7, 3.0, 20.0])
def test_the_cdf_is_the_integral_of_the_density(mu):
    """In double precision, and in the single precision of simulations."""
    theta = np.array([2 * mu, 0.0, 2.0, 0.0]) / np.array([2, 1, 1, 1])
    s = np.array([0.02, 0.1, 0.3, 0.49, 0.51, 1.0, 3.0])

    def density(t):
        given = (theta[:, None], np.ones(1), np.array([t]), np.zeros(1))
        return (np.exp(log_density(*given)) * (1 + np.exp(-2 * mu))).item()

    wanted = [integrate.quad(density, 0, end, epsabs=1e-12, limit=200)[0] for end in s]
    double = np.array([scaled_cdf(np.array(end), np.array(mu), xp=np) for end in s])
    np.testing.assert_allclose(double, wanted, atol=1e-8)
    single = jax.vmap(lambda end: scaled_cdf(end, jnp.asarray(mu)))(jnp.asarray(s))
    np.testing.assert_allclose(single, wanted, atol=2e-6)


@pytest.mark.parametrize("stimulus", [-1.0, 0.0, 1.0])
def test_simulations_have_the_density(stimulus):
    keys = jax.random.split(jax.random.key(2), 20_000)
    draws = jax.vmap(lambda key: TASK.simulator(key, TASK.truth, stimulus))(keys)
    choice, rt = (np.asarray(draws[name], float) for name in ("choice", "rt"))
    theta = np.array([float(TASK.truth[name]) for name in ("v0", "v1", "boundary", "delay")])
    drift = theta[0] + theta[1] * stimulus
    share = 1 / (1 + np.exp(-drift * theta[2]))
    assert abs(choice.mean() - share) < 4 * (share * (1 - share) / 20_000) ** 0.5
    for kind in (0, 1):  # the time does not depend on the choice
        times = (rt[choice == kind] - theta[3]) / (theta[2] / 2) ** 2
        cdf = lambda s: np.array(  # noqa: E731
            [scaled_cdf(np.array(t), np.array(abs(drift) * theta[2] / 2), xp=np) for t in s]
        )
        assert stats.kstest(times[:2000], cdf).pvalue > 1e-3


def test_the_reference_agrees_with_importance_sampling():
    """From the prior, for four observations."""
    x, c = TASK.observed(4, seed=1), np.asarray(TASK.conditions(4, seed=1), float)
    x = {name: np.asarray(value, float) for name, value in x.items()}
    z = np.random.default_rng(0).standard_normal((400_000, 4))
    theta = np.stack(
        [z[:, 0], 2 * z[:, 1], 1.5 * np.exp(0.4 * z[:, 2]), 0.25 * np.exp(0.5 * z[:, 3])]
    )
    each = [log_density(theta, x["choice"][i], x["rt"][i], c[i]) for i in range(4)]
    log_w = np.sum(each, axis=0)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    found = TASK.posterior_samples(x, conditions=c, seed=0, n=10_000)
    for name, values in zip(("v0", "v1", "boundary", "delay"), theta, strict=True):
        mean = w @ values
        deviation = (w @ (values - mean) ** 2) ** 0.5
        assert abs(found[name].mean() - mean) < 0.06 * deviation, name
        assert abs(found[name].std() / deviation - 1) < 0.06, name
