import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pliant.tasks.lotka_volterra import LotkaVolterraTask, solve

NAMES = ("alpha", "beta", "gamma", "delta")
MIDDLE = np.array([-0.125, -3.0, -0.125, -3.0])
TRUTH = np.array([0.6859157, 0.10761319, 0.88789904, 0.116794825])
LOWEST, HIGHEST = np.log(1e-10), np.log(1e4)


def prior_draws(n):
    z = np.random.default_rng(0).standard_normal((n, 4))
    return np.exp(MIDDLE + 0.5 * z).astype(np.float32)


def exact(theta):
    """The ODE in the populations' logarithms, to a tolerance of 1e-9: ``(n, 20)``."""

    def solve_one(theta):
        def slopes(t, z, args):
            alpha, beta, gamma, delta = theta
            return jnp.stack([alpha - beta * jnp.exp(z[1]), delta * jnp.exp(z[0]) - gamma])

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(slopes),
            diffrax.Dopri8(),
            *(0.0, 19.0, 0.01),
            jnp.log(jnp.array([30.0, 1.0])),
            saveat=diffrax.SaveAt(ts=2.1 * jnp.arange(10)),
            stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
            max_steps=20_000,
        )
        return solution.ys.T.ravel()

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(solve_one))(jnp.asarray(theta, jnp.float64)))


@pytest.fixture(scope="module")
def solutions():
    theta = prior_draws(2000)
    return theta, np.clip(exact(theta), LOWEST, HIGHEST)


def test_ode_in_single_precision(solutions):
    """A twentieth of the noise at most, for draws of the prior, and mostly a hundredth."""
    theta, wanted = solutions
    error = np.abs(np.asarray(jax.jit(jax.vmap(lambda t: solve(*t)))(theta), float) - wanted)
    assert np.max(error) < 5e-3
    assert np.quantile(np.max(error, axis=1), 0.99) < 1e-3


def test_ode_in_double_precision(solutions):
    theta, wanted = solutions
    error = np.abs(solve(*theta.T.astype(float), xp=np).T - wanted)
    assert np.max(error) < 5e-3
    assert np.quantile(np.max(error, axis=1), 0.99) < 1e-3
    # where the posterior is: much better than the 3e-3 that 1000 observations can tell
    np.testing.assert_allclose(solve(*TRUTH, xp=np), exact(TRUTH[None])[0], atol=1e-6)


def test_the_benchmark_s_own_observation_is_one_of_ours():
    """Times, order and noise: Lueckmann et al.'s first observation, at the same truth."""
    prey = [31.783262, 1.1971166, 0.29703617, 0.71145046, 2.9415865]
    prey += [11.482614, 36.09036, 0.46229604, 0.38081983, 0.9173736]
    predators = [0.8910395, 27.039942, 4.356176, 0.78444487, 0.17100818]
    predators += [0.1325878, 8.727008, 16.97251, 2.7902339, 0.47567415]
    x = np.array([prey, predators]).ravel()
    residual = (np.log(x) - solve(*TRUTH, xp=np)) / 0.1
    assert stats.kstest(residual, "norm").pvalue > 0.05
    assert 0.01 < stats.chi2(20).cdf(np.sum(residual**2)) < 0.99


def test_simulator_has_the_law_of_the_likelihood():
    """The logarithms of the data are independent, with the solution as mean and 0.1 of noise."""
    task = LotkaVolterraTask()
    keys = jax.random.split(jax.random.key(0), 20_000)
    x = np.asarray(jax.jit(jax.vmap(lambda key: task.simulator(key, task.truth)))(keys), float)
    residual = (np.log(x) - exact(TRUTH[None])) / 0.1
    for column in residual.T:
        assert stats.kstest(column, "norm").pvalue > 0.001  # twenty tests
    np.testing.assert_allclose(np.corrcoef(residual.T), np.eye(20), atol=0.035)  # error 0.007


@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0])
def test_draws_are_finite_for_any_rates(scale):
    """Also at 60 deviations of the prior, where the fixed step is far too large."""
    task = LotkaVolterraTask()
    z = scale * np.random.default_rng(1).uniform(-3, 3, (1000, 4))
    theta = dict(zip(NAMES, np.exp(MIDDLE + 0.5 * z).astype(np.float32).T, strict=True))
    keys = jax.random.split(jax.random.key(0), 1000)
    x = np.asarray(jax.jit(jax.vmap(task.simulator))(keys, theta))
    assert np.all(np.isfinite(x))
    assert x.min() > 0.5e-10
    assert x.max() < 2e4


def test_the_ode_is_solved_once_for_all_draws_of_a_parameter():
    """Under vmap over keys alone, no loop carries an axis of draws."""
    task = LotkaVolterraTask()
    draws = jax.vmap(task.simulator, in_axes=(0, None))
    jaxpr = jax.make_jaxpr(draws)(jax.random.split(jax.random.key(0), 777), task.truth)
    loops = [e for e in jaxpr.eqns if e.primitive.name in ("scan", "while")]
    assert loops
    for loop in loops:
        assert all(777 not in v.aval.shape for v in loop.outvars)


def log_theta(samples):
    return np.log(np.stack([np.asarray(samples[name], float) for name in NAMES], axis=1))


@pytest.mark.parametrize("n_obs", [1, 8])
def test_reference_matches_importance_sampling(n_obs):
    """With another ODE solver, and half of the draws from five times the reference's width."""
    task, n = LotkaVolterraTask(), 20_000
    x = np.asarray(task.observed(n_obs, 1), float)
    theta = log_theta(task.posterior_samples(x, seed=1, n=n))
    mean, covariance = theta.mean(axis=0), np.cov(theta.T)
    rng, half = np.random.default_rng(0), 10_000
    near = stats.multivariate_t(mean, 1.2 * covariance, df=5, seed=rng)
    wide = stats.multivariate_normal(mean, 25 * covariance, seed=rng)
    draws = np.concatenate([near.rvs(half), wide.rvs(half)])
    log_q = np.logaddexp(near.logpdf(draws), wide.logpdf(draws))
    fit = exact(np.exp(draws))
    log_f = stats.norm.logpdf(draws, MIDDLE, 0.5).sum(axis=1)
    log_f += sum(stats.norm.logpdf(row, fit, 0.1).sum(axis=1) for row in np.log(x))
    w = np.exp(log_f - log_q - special.logsumexp(log_f - log_q))
    assert 1 / np.sum(w**2) > 5000
    root = np.linalg.cholesky(covariance)
    ours, other = (np.linalg.solve(root, (t - mean).T).T for t in (theta, draws))
    functions = {
        "mean": lambda t: t,
        "square": lambda t: t**2,
        "product": lambda t: t[:, :1] * t[:, 1:],
        "cube": lambda t: t**3,
        "tail": lambda t: np.abs(t) > 2.5,
    }
    for name, f in functions.items():
        got, values = f(ours).astype(float), f(other).astype(float)
        wanted = w @ values
        error = np.sqrt(w**2 @ (values - wanted) ** 2 + got.var(axis=0) / n)
        # about 20 numbers a case: 4.5 standard errors
        np.testing.assert_array_less(np.abs(got.mean(axis=0) - wanted), 4.5 * error, err_msg=name)


@pytest.mark.parametrize("n_obs", [100, 1000])
def test_large_sets_have_the_asymptotic_spread(n_obs):
    """The inverse Fisher information of the logarithms of the rates, by central differences."""
    theta = log_theta(LotkaVolterraTask().reference(n_obs, 0))
    step = 1e-4 * np.eye(4)
    up, down = (exact(np.exp(np.log(TRUTH) + sign * step)) for sign in (1, -1))
    slopes = (up - down) / 2e-4
    covariance = np.linalg.inv(n_obs * slopes @ slopes.T / 0.1**2 + np.eye(4) / 0.5**2)
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, (theta - np.log(TRUTH)).T)
    # 1 % from 10,000 draws, and a few from the truth in place of the posterior's mean
    np.testing.assert_allclose(np.cov(white), np.eye(4), atol=0.08)
    assert np.all(np.abs(white.mean(axis=1)) < 4)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_observations_must_be_positive(bad):
    x = np.ones((2, 20))
    x[1, 3] = bad
    with pytest.raises(ValueError, match="observed: expected positive"):
        LotkaVolterraTask().posterior_samples(x)
