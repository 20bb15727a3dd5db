import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks.sir import _TRIALS, SIRTask, _binomial_table, infected

TIMES = 17.0 * np.arange(10)


@pytest.fixture(scope="module")
def rates():
    """Four deviations of the prior on each side: beta from 0.05 to 3, gamma from 0.06 to 0.28."""
    beta = 0.4 * np.exp(0.5 * np.linspace(-4, 4, 17))
    gamma = 0.125 * np.exp(0.2 * np.linspace(-4, 4, 9))
    return [np.float32(a.ravel()) for a in np.meshgrid(beta, gamma)]


@pytest.fixture(scope="module")
def solution(rates):
    """The ODE in S and I, to a relative tolerance of 1e-10."""

    def solve(beta, gamma):
        def slopes(t, y, args):
            s, i = y
            return jnp.stack([-beta * s * i, beta * s * i - gamma * i])

        return diffrax.diffeqsolve(
            diffrax.ODETerm(slopes),
            diffrax.Dopri8(),
            *(0.0, TIMES[-1], 0.01),
            jnp.array([1 - 1e-6, 1e-6]),
            saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES)),
            stepsize_controller=diffrax.PIDController(rtol=1e-10, atol=1e-30),
            max_steps=20_000,
        ).ys[:, 1]

    with jax.enable_x64(True):
        both = [jnp.asarray(rate, jnp.float64) for rate in rates]
        return np.asarray(jax.jit(jax.vmap(solve))(*both)).T


def test_ode_in_single_precision(rates, solution):
    fractions = np.asarray(jax.jit(jax.vmap(infected, out_axes=1))(*rates), float)
    np.testing.assert_allclose(fractions, solution, rtol=1e-4)


def test_ode_in_double_precision(rates, solution):
    fractions = infected(*(rate.astype(float) for rate in rates), xp=np)
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


def test_simulator_moments():
    task = SIRTask()
    keys = jax.random.split(jax.random.key(0), 50_000)
    x = np.asarray(jax.jit(jax.vmap(lambda key: task.simulator(key, task.truth)))(keys), float)
    p = infected(np.float64(0.6), np.float64(0.2), xp=np)
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


@pytest.mark.parametrize("n_obs", [1, 50])
def test_reference_matches_quadrature(n_obs):
    """Binomial densities of scipy on a grid that covers seven deviations of the reference."""
    task, n = SIRTask(), 20_000
    samples = task.reference(n_obs, 1, n=n)
    theta = np.stack([samples["beta"], samples["gamma"]], axis=1).astype(float)
    root = np.linalg.cholesky(np.cov(theta.T))
    axis = np.linspace(-7, 7, 71)
    unit = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = theta.mean(axis=0) + unit @ root.T
    inside = np.all(grid > 0, axis=1)
    grid = grid[inside]
    x = np.asarray(task.observed(n_obs, 1), float)
    p = infected(*grid.T, xp=np)
    log_f = stats.lognorm.logpdf(grid[:, 0], 0.5, scale=0.4)
    log_f += stats.lognorm.logpdf(grid[:, 1], 0.2, scale=0.125)
    log_f += sum(stats.binom.logpmf(x[:, j, None], _TRIALS, p[j]).sum(axis=0) for j in range(10))
    w = np.exp(log_f - special.logsumexp(log_f))
    z, z_grid = np.linalg.solve(root, (theta - theta.mean(axis=0)).T).T, unit[inside]
    # whitened: standard errors are 0.007 for means and 0.01 for squares and products
    np.testing.assert_allclose(z.mean(axis=0), w @ z_grid, atol=0.03)
    np.testing.assert_allclose(z.T @ z / n, (w * z_grid.T) @ z_grid, atol=0.045)


def test_counts_out_of_range_are_refused():
    with pytest.raises(ValueError, match="counts"):
        SIRTask().posterior_samples(np.full((1, 10), 1001.0))
