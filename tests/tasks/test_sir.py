from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks import sir
from pliant.tasks.sir import _TRIALS, SIRTask, _binomial_table, infected

DAYS = {10: 17.0 * np.arange(10), 20: 8.0 * np.arange(1, 21)}
OPTIONS = [
    {"times": times, "truncated": truncated} for times in DAYS for truncated in (False, True)
]


@pytest.fixture(scope="module", params=DAYS)
def times(request):
    return request.param


@pytest.fixture(scope="module")
def rates():
    """Four deviations of the prior on each side: beta from 0.05 to 3, gamma from 0.06 to 0.28."""
    beta = 0.4 * np.exp(0.5 * np.linspace(-4, 4, 17))
    gamma = 0.125 * np.exp(0.2 * np.linspace(-4, 4, 9))
    return [np.float32(a.ravel()) for a in np.meshgrid(beta, gamma)]


@pytest.fixture(scope="module")
def solution(rates, times):
    """The ODE in S and I, to a relative tolerance of 1e-10."""

    def solve(beta, gamma):
        def slopes(t, y, args):
            s, i = y
            return jnp.stack([-beta * s * i, beta * s * i - gamma * i])

        return diffrax.diffeqsolve(
            diffrax.ODETerm(slopes),
            diffrax.Dopri8(),
            *(0.0, DAYS[times][-1], 0.01),
            jnp.array([1 - 1e-6, 1e-6]),
            saveat=diffrax.SaveAt(ts=jnp.asarray(DAYS[times])),
            stepsize_controller=diffrax.PIDController(rtol=1e-10, atol=1e-30),
            max_steps=20_000,
        ).ys[:, 1]

    with jax.enable_x64(True):
        both = [jnp.asarray(rate, jnp.float64) for rate in rates]
        return np.asarray(jax.jit(jax.vmap(solve))(*both)).T


def test_ode_in_single_precision(rates, times, solution):
    solve = jax.vmap(partial(infected, times=times), out_axes=1)
    fractions = np.asarray(jax.jit(solve)(*rates), float)
    np.testing.assert_allclose(fractions, solution, rtol=1e-4)


def test_ode_in_double_precision(rates, times, solution):
    fractions = infected(*(rate.astype(float) for rate in rates), times=times, xp=np)
    np.testing.assert_allclose(fractions, solution, rtol=2e-5)
    # where the posterior is: much better than the 5e-4 that 1000 observations can tell
    at_truth = infected(np.array([0.6, 0.5994]), np.array([0.2, 0.2]), xp=np)
    exact = infected(np.float64(0.6), np.float64(0.2), xp=np)
    np.testing.assert_array_equal(at_truth[:, 0], exact)


@pytest.mark.parametrize("p", [1e-12, 1e-6, 1e-3, 0.02, 0.127, 0.1285, 0.3, 0.5, 0.77, 0.9999])
def test_binomial_table(p):
    first, cumulative = jax.jit(_binomial_table)(jnp.float32(p))
    counts = int(first) + np.arange(len(cumulative))
    exact = stats.binom(_TRIALS, float(np.float32(p)))
    # sums of 256 numbers in single precision: one draw in 100,000 may be off by one
    np.testing.assert_allclose(cumulative, exact.cdf(counts), atol=1e-5)
    outside = exact.cdf(counts[0] - 1) + exact.sf(counts[-1])
    assert outside < 1e-12
    assert cumulative[-1] == 1.0


def test_simulator_moments(times):
    task = SIRTask(times=times)
    keys = jax.random.split(jax.random.key(0), 50_000)
    x = np.asarray(jax.jit(jax.vmap(lambda key: task.simulator(key, task.truth)))(keys), float)
    p = infected(np.float64(0.6), np.float64(0.2), times=times, xp=np)
    assert x.shape[1:] == p.shape == (times,)
    assert np.all(x == np.round(x))
    assert x.min() >= 0
    assert x.max() <= _TRIALS
    deviation = np.sqrt(_TRIALS * p * (1 - p))
    error = deviation / len(x) ** 0.5
    np.testing.assert_array_less(np.abs(x.mean(axis=0) - _TRIALS * p), 4.5 * error + 1e-4 * p)
    # relative standard error of a deviation: 0.32 % for counts that are nearly normal
    np.testing.assert_allclose(x.std(axis=0)[p > 0.01], deviation[p > 0.01], rtol=0.015)
    off = np.corrcoef(x[:, p > 0.01].T) - np.eye(np.sum(p > 0.01))
    np.testing.assert_allclose(off, 0.0, atol=0.02)


def test_the_ode_is_solved_once_for_all_draws_of_a_parameter():
    """Under vmap over keys alone, no loop carries an axis of draws."""
    draws = jax.vmap(SIRTask().simulator, in_axes=(0, None))
    jaxpr = jax.make_jaxpr(draws)(jax.random.split(jax.random.key(0), 777), SIRTask().truth)
    loops = [e for e in jaxpr.eqns if e.primitive.name in ("scan", "while")]
    assert loops
    for loop in loops:
        assert all(777 not in v.aval.shape for v in loop.outvars)


def observed_at(task, n_obs, beta, gamma):
    """Observations of other rates than the truth."""
    theta = {"beta": jnp.array(beta), "gamma": jnp.array(gamma)}
    keys = jax.random.split(jax.random.key(1), n_obs)
    return jax.jit(jax.vmap(lambda key: task.simulator(key, theta)))(keys)


def midpoints(lower, upper, n):
    return lower + (upper - lower) * (np.arange(n) + 0.5) / n


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("n_obs", "beta"), [(1, 0.6), (50, 0.6), (20, 2.0)])
def test_reference_matches_quadrature(n_obs, beta, options, monkeypatch):
    """The midpoint rule on seven deviations around the mean, up to the limit of beta.

    With a contact rate of 2, the limit cuts the posterior. A set of one observation may have a
    second mode far away, with a share of 4e-5 in one that was looked at: both sides leave it out.
    """
    monkeypatch.setattr(sir, "_STEPS_PER_DAY", 2)  # both sides solve the same ODE
    task = SIRTask(**options)
    x = np.asarray(observed_at(task, n_obs, beta, 0.2), float)
    samples = task.posterior_samples(x, seed=1, n=20_000)
    theta = np.stack([samples["beta"], samples["gamma"]], axis=1)
    mean, root = theta.mean(axis=0), np.linalg.cholesky(np.cov(theta.T))
    top = 7.0
    if task.truncated:
        assert np.all(theta <= [2.0, 0.5])
        top = min(top, (2.0 - mean[0]) / root[0, 0])  # the root is triangular
    if beta == 2.0:
        assert theta[:, 0].max() > 1.999
        assert task.truncated or np.mean(theta[:, 0] > 2.0) > 0.05
    axes = np.meshgrid(midpoints(-7, top, 70), midpoints(-7, 7, 70))
    unit = np.stack(axes, axis=-1).reshape(-1, 2)
    grid = mean + unit @ root.T
    assert np.all(grid > 0)
    p = infected(*grid.T, times=task.times, xp=np)
    log_f = stats.lognorm.logpdf(grid[:, 0], 0.5, scale=0.4)
    log_f += stats.lognorm.logpdf(grid[:, 1], 0.2, scale=0.125)
    binomial = [stats.binom.logpmf(x[:, j, None], _TRIALS, p[j]) for j in range(task.times)]
    log_f += sum(values.sum(axis=0) for values in binomial)
    w = np.exp(log_f - special.logsumexp(log_f))
    z = np.linalg.solve(root, (theta - mean).T).T
    near = np.all(np.abs(z) < 7, axis=1)
    assert near.mean() > 0.999
    # whitened: standard errors are 0.007 for means and 0.01 for squares and products
    np.testing.assert_allclose(z[near].mean(axis=0), w @ unit, atol=0.03)
    moments = z[near].T @ z[near] / near.sum()
    np.testing.assert_allclose(moments, (w * unit.T) @ unit, atol=0.045)


def test_counts_out_of_range_are_refused():
    with pytest.raises(ValueError, match="counts"):
        SIRTask().posterior_samples(np.full((1, 10), 1001.0))


@pytest.mark.parametrize("options", OPTIONS)
def test_shapes_and_support_of_all_options(options):
    task = SIRTask(**options)
    problem = task.problem(n_obs=3, seed=1)
    assert problem.event_shape == (task.times,)
    samples = task.reference(3, 1, n=50)
    assert samples["beta"].shape == (50,)
    space = problem.prior.space
    assert space.contains(samples)
    assert space.contains({"beta": 2.5, "gamma": 0.1}) != task.truncated
    assert space.contains({"beta": 0.1, "gamma": 0.6}) != task.truncated
    z = problem.prior.sample(jax.random.key(0), 100)
    assert np.all(np.isfinite(problem.prior.log_prob(z)))


def test_both_schedules_agree_on_the_days_they_share():
    """Day 136 is the 8th time of the one and the 17th of the other."""
    beta, gamma = np.float64(0.3), np.float64(0.15)
    ten, twenty = (infected(beta, gamma, times=times, xp=np) for times in (10, 20))
    assert ten[8] == pytest.approx(twenty[16], rel=1e-12)
    assert ten[0] == 1e-6


@pytest.mark.parametrize(
    ("name", "median", "spread", "largest"), [("beta", 0.4, 0.5, 2.0), ("gamma", 0.125, 0.2, 0.5)]
)
def test_truncated_prior_has_the_law_of_its_density(name, median, spread, largest):
    prior = SIRTask(truncated=True).prior[name]
    exact: Any = stats.lognorm(spread, scale=median)
    draws = np.asarray(prior.sample(jax.random.key(3), (200_000,)), float)
    assert draws.min() > 0
    assert draws.max() <= largest
    assert stats.kstest(draws, lambda x: exact.cdf(x) / exact.cdf(largest)).pvalue > 0.01
    grid = np.linspace(0.02, largest, 50)
    log_density = exact.logpdf(grid) - exact.logcdf(largest)
    np.testing.assert_allclose(prior.log_prob(np.float32(grid)), log_density, atol=2e-4)
    assert exact.sf(largest) < 1e-3


def test_truncated_prior_in_z_integrates_to_one():
    """The mean of p(z) / q(z) over a normal q that is wider than the prior in z."""
    prior = SIRTask(truncated=True).problem(1).prior
    z = 2.5 * jax.random.normal(jax.random.key(0), (50_000, 2))
    log_q = stats.norm.logpdf(z, scale=2.5).sum(axis=1)
    ratios = np.exp(np.asarray(prior.log_prob(z), float) - log_q)
    assert ratios.mean() == pytest.approx(1.0, abs=5 * ratios.std() / len(z) ** 0.5)


@pytest.mark.parametrize("times", [1, 9, 16, 160])
def test_other_numbers_of_times_are_refused(times):
    with pytest.raises(ValueError, match=f"times: expected 10 or 20, got {times}"):
        SIRTask(times=times)


@pytest.mark.wrong_types
def test_options_of_the_wrong_type_are_refused():
    with pytest.raises(TypeError, match="times: expected an integer"):
        SIRTask(times=10.0)
    with pytest.raises(TypeError, match="truncated: "):
        SIRTask(truncated=1)


def test_other_options_are_compiled_anew():
    assert SIRTask(times=20).simulator != SIRTask().simulator
    assert SIRTask(times=10).simulator == SIRTask().simulator
