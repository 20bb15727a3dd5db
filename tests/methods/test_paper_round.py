"""A round of ``PLI.paper`` against the paper's formulas, term by term, in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

import pliant
from pliant.problem.sets import simulate_sets

N, K, BETA, EPSILON = 6, 300, 5e-4, 0.5
LENGTHSCALES = [1, 10, 20, 40, 80, 100, 130, 200, 400, 800, 1000]  # appendix C.1


def simulator(key, theta):
    return theta["mu"] + jnp.exp(0.3 * theta["mu"][0]) * jax.random.normal(key, (2,))


@pytest.fixture(scope="module")
def problem():
    observed = np.random.default_rng(0).normal([0.5, -0.3], 1.1, size=(N, 2))
    prior = {"mu": dist.Normal(0, 1).expand([2]).to_event(1)}
    return pliant.Problem(prior, simulator, observed, scale=None)


def kernel(a, b):
    return sum(np.exp(-np.sum((a - b) ** 2) / (2 * length)) for length in LENGTHSCALES)


def squared_mmd(x, y):
    """The U-statistic of appendix C.1, by loops."""
    own_y = sum(kernel(a, b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j)
    own_x = sum(kernel(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j)
    cross = sum(kernel(a, b) for a in x for b in y)
    n, m = len(y), len(x)
    return own_y / (n * (n - 1)) - 2 * cross / (n * m) + own_x / (m * (m - 1))


def log_weights(eta, log_ratio, distance):
    """Eq. 11: ``(p / pi_{t-1})^(1 / (1 + eta)) exp(-D / (2 (1 + eta) beta))``."""
    return log_ratio / (1 + eta) - distance / (2 * BETA * (1 + eta))


def dual(eta, log_ratio, distance):
    """Eq. 10, with the expectation over the K samples of the proposal."""
    log_mean = logsumexp(log_weights(eta, log_ratio, distance)) - np.log(len(distance))
    return -eta * EPSILON - (1 + eta) * log_mean


def test_two_rounds_are_those_of_the_formulas(problem):
    method = pliant.PLI.paper(N, n_particles=K, family=pliant.Gaussian())
    state, _ = method.init(jax.random.key(0), problem)
    for index in (1, 2):
        key = jax.random.key(index)
        proposal = problem.prior if state.density is None else state.density
        sample_key, evaluate_key, _ = jax.random.split(key, 3)
        z = proposal.sample(sample_key, K)
        x = simulate_sets(jax.random.fold_in(evaluate_key, 0), problem, z, N).x
        observed = np.asarray(problem.observed, np.float64)
        distance = np.array([squared_mmd(one, observed) for one in x.astype(np.float64)])
        log_p = np.asarray(problem.prior.log_prob(z), np.float64)
        log_ratio = log_p - np.asarray(proposal.log_prob(z), np.float64)

        best = minimize_scalar(
            lambda log_eta, *data: -dual(np.exp(log_eta), *data),
            bounds=(-5, 15),
            args=(log_ratio, distance),
            method="bounded",
            options={"xatol": 1e-8},
        )
        eta = np.exp(best.x)
        w = np.exp(log_weights(eta, log_ratio, distance))
        w /= w.sum()

        outcome = method.step(key, problem, state)
        state, row = outcome.state, outcome.row
        # the distances are single precision: eleven kernels near one, each to about 1e-7
        assert row["distance_median"] == pytest.approx(np.median(distance), abs=1e-5)
        assert row["eta"] == pytest.approx(eta, rel=5e-3)
        assert row["bandwidth"] == pytest.approx(BETA * (1 + eta), rel=5e-3)
        assert row["kl"] == pytest.approx(EPSILON, abs=1e-3)  # the constraint is active
        assert np.sum(w * np.log(K * w)) == pytest.approx(EPSILON, abs=1e-3)
        assert row["ess"] == pytest.approx(1 / np.sum(w**2), rel=5e-3)
        mean = w @ np.asarray(z, np.float64)  # line 11, for a Gaussian
        np.testing.assert_allclose(state.density.mean, mean, atol=1e-3)
