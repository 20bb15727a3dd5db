"""A conjugate problem whose posterior, density and likelihood are exact, and wrong versions of it.

Two means with normal priors, and normal data: the posterior is Gaussian in closed form.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from pliant.densities.affine import AffineDensity
from pliant.densities.gaussian import GaussianDensity
from pliant.diagnosis.evidence import gather
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem.space import constrain_all
from pliant.run.history import History
from pliant.run.posterior import Posterior

SPREAD = 2.0  # of the prior
N_OBS = 30
ROW = {"round": 1, "eta": 0.0, "kl": 0.01, "log_likelihood_se": 0.1, "noise_share": 0.2}


class NormalLikelihood(AbstractLikelihood):
    """Of data with the variance one; ``sharpness`` makes it too sure, ``bias`` moves it."""

    power: float = 1.0
    sharpness: float = eqx.field(static=True, default=1.0)
    bias: float = eqx.field(static=True, default=0.0)

    def log_values(self, problem, draws, z):
        mu = np.asarray(constrain_all(problem.prior.space, z)["mu"], float)
        off = np.asarray(draws.x, float)[None] - mu[:, None] - self.bias
        return (-self.sharpness * (off**2).sum(axis=-1) / 2).astype(np.float32)


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))


def problem_of(observed, simulate=simulator):
    return pliant.Problem({"mu": dist.Normal(jnp.zeros(2), SPREAD).to_event(1)}, simulate, observed)


def clean(seed=0, n_obs=N_OBS):
    rng = np.random.default_rng(seed)
    return (np.array([0.5, -1.0]) + rng.standard_normal((n_obs, 2))).astype(np.float32)


def gaussian(mean, root):
    """The Gaussian whose covariance is ``root root'``."""
    root = jnp.asarray(root, float)
    return GaussianDensity(jnp.asarray(mean, float), jnp.log(jnp.diag(root)), jnp.tril(root, -1))


def result_of(problem, likelihood=None, *, shift=0.0, stretch=1.0, **fields):
    """A run that ended with the exact posterior, or with a moved and stretched one."""
    x = np.asarray(problem.observed, float)
    precision = 1 / SPREAD**2 + len(x)
    space, dim = problem.prior.space, 2
    zero, one = (np.asarray(space.unconstrain({"mu": jnp.full(dim, v)})) for v in (0.0, 1.0))
    mean = zero + (one - zero) * x.sum(axis=0) / precision
    spread = (one - zero) / precision**0.5
    base = gaussian(mean, np.diag(spread))
    density = AffineDensity(
        base,
        jnp.asarray(mean, float),
        jnp.asarray(shift * spread, float),
        jnp.full(dim, stretch, float),
    )
    options = {
        "posterior": Posterior(space, density),
        "history": History([ROW]),
        "status": pliant.Status.CONVERGED,
        "message": "",
        "method": pliant.PLI(),
        "seed": 0,
        "observed_shape": problem.observed.shape,
        "likelihood": likelihood,
    }
    return pliant.Result(**{**options, **fields})


class Known(NamedTuple):
    problem: pliant.Problem
    result: pliant.Result

    def evidence(self, seed=0):
        key = jax.random.key(seed)
        return gather(key, self.problem, self.result.posterior, self.result.likelihood)


EXACT = NormalLikelihood()


def known(observed=None, likelihood=EXACT, **options):
    problem = problem_of(clean() if observed is None else observed)
    return Known(problem, result_of(problem, likelihood, **options))
