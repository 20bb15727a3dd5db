"""Problems with exact posteriors that are no tasks: README's example, and kinds of data beside it.

Each gives a problem of N observations and samples of its exact posterior, as a table with one row
per sample. Priors are normal or log-normal, so that one sampler serves all of them: a standard
normal z, and the likelihood as a function of z.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from scipy import stats

import pliant
from pliant.tasks.annealing import sample_annealed


class ExactProblem(NamedTuple):
    """A prior of independent normal and log-normal parameters, and a simulator."""

    prior: dict
    """Name to (middle, spread, "normal" or "log-normal")."""
    truth: tuple
    simulator: object
    """``simulator(key, theta)``, one draw."""
    log_likelihood: object
    """``log_likelihood(theta, x)`` of parameters ``(m, dim)`` and observations, in NumPy."""

    def problem(self, n_obs, seed):
        """N observations at the truth."""
        names = list(self.prior)
        keys = jax.random.split(jax.random.key(1000 + seed), n_obs)
        true = dict(zip(names, map(jnp.asarray, self.truth), strict=True))
        observed = np.stack([np.asarray(self.simulator(key, true)) for key in keys])
        kinds = {"normal": dist.Normal, "log-normal": dist.LogNormal}
        prior = {name: kinds[kind](*numbers) for name, (*numbers, kind) in self.prior.items()}
        return pliant.Problem(prior, self.simulator, observed)

    def reference(self, problem, n):
        """Exact samples, ``(n, dim)``, in the order of ``Posterior.sample``."""
        x = np.asarray(problem.observed, float)
        rng = np.random.default_rng(0)

        def log_likelihood(z):
            return np.nan_to_num(self.log_likelihood(self._theta(z), x), nan=-1e9, neginf=-1e9)

        z = sample_annealed(log_likelihood, len(self.prior), n=n, rng=rng)
        return dict(zip(self.prior, self._theta(z).T, strict=True))

    def _theta(self, z):
        columns = [middle + spread * z[:, i] for i, (middle, spread, _) in self._numbered()]
        logs = [kind == "log-normal" for _, (_, _, kind) in self._numbered()]
        return np.stack([np.exp(c) if log else c for c, log in zip(columns, logs, strict=True)], 1)

    def _numbered(self):
        return enumerate(self.prior.values())


def _readme(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


def _readme_likelihood(theta, x):
    return stats.norm.logpdf(x.ravel(), theta[:, :1], theta[:, 1:]).sum(axis=1)


_POINTS, _STEP = 50, 0.2


def _ou(key, theta):
    """An Ornstein-Uhlenbeck process at 50 times, exactly, from its stationary distribution."""
    decay = jnp.exp(-theta["rate"] * _STEP)
    stationary = theta["volatility"] / jnp.sqrt(2 * theta["rate"])

    def step(state, noise):
        state = decay * state + stationary * jnp.sqrt(1 - decay**2) * noise
        return state, state

    noise = jax.random.normal(key, (_POINTS,))
    first = stationary * noise[0]
    _, later = jax.lax.scan(step, first, noise[1:])
    return theta["mean"] + jnp.concatenate([first[None], later])


def _ou_likelihood(theta, x):
    rate, mean, volatility = (theta[:, i, None, None] for i in range(3))
    decay, stationary = np.exp(-rate * _STEP), volatility / np.sqrt(2 * rate)
    start = stats.norm.logpdf(x[None, :, :1], mean, stationary).sum(axis=(1, 2))
    middle = mean + decay * (x[None, :, :-1] - mean)
    steps = stats.norm.logpdf(x[None, :, 1:], middle, stationary * np.sqrt(1 - decay**2))
    return start + steps.sum(axis=(1, 2))


def _decades(key, theta):
    """Three positive numbers over decades, with a common factor."""
    common, own = jax.random.normal(key, (4,))[:1], jax.random.normal(key, (4,))[1:]
    return jnp.exp(theta["level"] + theta["spread"] * (own + common))


def _decades_likelihood(theta, x):
    covariance = np.eye(3) + 1
    log_x = np.log(x)
    precision, log_det = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
    off = (log_x[None] - theta[:, 0, None, None]) / theta[:, 1, None, None]
    square = np.einsum("mni,ij,mnj->m", off, precision, off)
    return -square / 2 - len(x) * (log_det / 2 + 3 * np.log(theta[:, 1]))


def _counts(key, theta):
    """Two counts with a negative binomial and a Poisson distribution."""
    one, two, three = jax.random.split(key, 3)
    rate = theta["mean"] * jax.random.gamma(one, theta["shape"]) / theta["shape"]
    return jnp.stack([jax.random.poisson(two, rate), jax.random.poisson(three, theta["mean"])])


def _counts_likelihood(theta, x):
    mean, shape = theta[:, :1], theta[:, 1:]
    first = stats.nbinom.logpmf(x[None, :, 0], shape, shape / (shape + mean))
    return (first + stats.poisson.logpmf(x[None, :, 1], mean)).sum(axis=1)


def _heavy(key, theta):
    """Student's t with three degrees of freedom."""
    return theta["location"] + theta["scale"] * jax.random.t(key, 3.0, (1,))


def _heavy_likelihood(theta, x):
    return stats.t.logpdf(x[None, :, 0], 3, theta[:, :1], theta[:, 1:]).sum(axis=1)


_WEIGHTS = np.random.default_rng(5).normal(size=(6, 10)) / np.sqrt(10)


def _linear(key, theta):
    """Six numbers that depend linearly on ten parameters."""
    return _WEIGHTS @ jnp.stack(list(theta.values())) + 0.3 * jax.random.normal(key, (6,))


def _linear_likelihood(theta, x):
    middle = theta @ _WEIGHTS.T
    return stats.norm.logpdf(x.mean(axis=0), middle, 0.3 / np.sqrt(len(x))).sum(axis=1)


PROBLEMS = {
    "readme": ExactProblem(
        {"mu": (0.0, 5.0, "normal"), "sigma": (0.0, 1.0, "log-normal")},
        (1.5, 0.8),
        _readme,
        _readme_likelihood,
    ),
    "ornstein_uhlenbeck": ExactProblem(
        {
            "rate": (0.0, 0.5, "log-normal"),
            "mean": (0.0, 1.0, "normal"),
            "volatility": (0.0, 0.5, "log-normal"),
        },
        (0.8, 0.5, 1.2),
        _ou,
        _ou_likelihood,
    ),
    "decades": ExactProblem(
        {"level": (0.0, 3.0, "normal"), "spread": (0.0, 0.7, "log-normal")},
        (2.0, 1.4),
        _decades,
        _decades_likelihood,
    ),
    "counts": ExactProblem(
        {"mean": (1.0, 1.0, "log-normal"), "shape": (0.5, 0.7, "log-normal")},
        (4.0, 2.0),
        _counts,
        _counts_likelihood,
    ),
    "heavy_tails": ExactProblem(
        {"location": (0.0, 5.0, "normal"), "scale": (0.0, 1.0, "log-normal")},
        (1.0, 0.7),
        _heavy,
        _heavy_likelihood,
    ),
    "ten_parameters": ExactProblem(
        {f"theta_{i}": (0.0, 1.0, "normal") for i in range(10)},
        tuple(np.linspace(-1, 1, 10)),
        _linear,
        _linear_likelihood,
    ),
}
