"""Results of runs that never were: exact posteriors with exact likelihoods, and wrong ones.

``pliant.diagnose`` looks at them as at the result of a run. A posterior may be moved, stretched, or
robbed of a mode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import pliant
from pliant.densities.base import AbstractDensity
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem.sets import observed_draws
from pliant.problem.space import constrain_all
from pliant.run.history import History
from pliant.run.posterior import Posterior

VARIANTS = ("exact", "moved", "wide", "narrow", "one mode less")
ROW = {"round": 1, "eta": 0.0, "kl": 0.01, "log_likelihood_se": 0.1}


class ExactLikelihood(AbstractLikelihood):
    """``log p(x | theta)`` by a function of one parameter and one draw."""

    power: float
    function: Any = eqx.field(static=True)
    """``function(theta, x)``, or ``function(theta, x, condition)``, in JAX."""

    def log_values(self, problem, draws, z):
        """Of all pairs."""
        return np.asarray(_log_values(self.function, problem, draws, z))


@eqx.filter_jit
def _log_values(function, problem, draws, z):
    thetas = constrain_all(problem.prior.space, z)
    given = ()
    if problem.conditions is not None:
        given = (jax.tree.map(lambda c: jnp.asarray(c)[draws.under], problem.conditions.values),)
    x = jnp.asarray(draws.x)

    def one(theta):
        return jax.vmap(lambda x, *c: function(theta, x, *c))(x, *given)

    return jax.lax.map(one, thetas, batch_size=50)


class ExactDensity(AbstractDensity):
    """Exact samples, and their density up to a constant, moved and stretched around their mode.

    Symmetric modes differ in the signs of some coordinates; each is stretched around its centre.
    """

    pool: jax.Array
    problem: pliant.Problem
    likelihood: ExactLikelihood
    signed: tuple = eqx.field(static=True)
    """Coordinates whose signs tell modes apart."""
    shift: float = 0.0
    """Deviations by which every coordinate is moved."""
    stretch: float = 1.0
    fewer: bool = eqx.field(static=True, default=False)
    """Whether the mode with negative signs is left out."""

    @property
    def dim(self):
        """The dimension of z."""
        return self.pool.shape[1]

    def _place(self, z):
        """The centre of each draw's mode, and the deviation within modes."""
        mask = jnp.asarray([i in self.signed for i in range(self.dim)])
        folded = jnp.where(mask[None], jnp.abs(self.pool), self.pool)
        centre, spread = folded.mean(0), folded.std(0)
        return jnp.where(mask[None], jnp.sign(z), 1.0) * centre[None], spread

    def _lost(self, z):
        return jnp.all(z[:, jnp.asarray(self.signed)] < 0, axis=1)

    def sample(self, key, n):
        """Draws without replacement."""
        pool = np.asarray(self.pool)
        if self.fewer:
            pool = pool[~np.asarray(self._lost(self.pool))]
        z = jnp.asarray(pool[np.asarray(jax.random.permutation(key, len(pool)))[:n]])
        centre, spread = self._place(z)
        return centre + self.shift * spread[None] + self.stretch * (z - centre)

    def log_prob(self, z):
        """Up to a constant."""
        _, spread = self._place(z)
        moved = z - self.shift * spread[None]
        centre, _ = self._place(moved)
        base = centre + (moved - centre) / self.stretch
        values = self.likelihood.log_values(self.problem, observed_draws(self.problem), base)
        log_p = jnp.asarray(values.sum(1)) + self.problem.prior.log_prob(base)
        return jnp.where(self._lost(moved), -1e9, log_p) if self.fewer else log_p


def as_result(problem, likelihood, theta, variant="exact", signed=()):
    """The result of a run that ended with an exact posterior, or a variant of it.

    Args:
        problem: The problem.
        likelihood: The exact one.
        theta: Exact samples, in the prior's structure.
        variant: One of ``VARIANTS``.
        signed: Coordinates whose signs tell modes apart.
    """
    z = jax.vmap(problem.prior.space.unconstrain)(
        jax.tree.map(lambda a: jnp.asarray(a, float), theta)
    )
    change = {
        "exact": {},
        "moved": {"shift": 1.0},
        "wide": {"stretch": 2.0},
        "narrow": {"stretch": 0.5},
        "one mode less": {"fewer": True},
    }[variant]
    density = ExactDensity(z, problem, likelihood, tuple(signed), **change)
    return pliant.Result(
        posterior=Posterior(problem.prior.space, density),
        history=History([ROW]),
        status=pliant.Status.CONVERGED,
        message="",
        method=pliant.PLI(),
        seed=0,
        observed_shape=problem.observed.shape,
        likelihood=likelihood,
    )
