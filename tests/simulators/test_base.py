"""The contract of simulators: a class of one's own is a source of draws like any other."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.sets import simulate_chunks, simulate_sets
from pliant.simulators.base import AbstractSimulator


class Table(AbstractSimulator):
    """Draw m of a parameter is ``mu + m``; every third one fails."""

    @property
    def compiled(self):
        return False

    def event_shape(self, theta):
        return ()

    def simulate(self, keys, thetas, n, under=None):
        ok = jnp.broadcast_to(jnp.arange(n)[None] % 3 != 2, (len(keys), n))
        return jnp.where(ok, thetas["mu"][:, None] + jnp.arange(n)[None], 0.0), ok


def test_a_class_that_is_not_finished_cannot_be_instantiated():
    unfinished: Any = AbstractSimulator
    with pytest.raises(TypeError, match=r"abstract.*compiled.*event_shape.*simulate"):
        unfinished()


def test_a_simulator_of_ones_own_gives_the_sets_of_a_problem():
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, Table(), np.zeros(4))
    assert isinstance(problem.simulator, Table)
    assert problem.event_shape == ()
    z = problem.prior.sample(jax.random.key(0), 7)
    mu = np.asarray(jax.vmap(problem.prior.space.constrain)(z)["mu"])
    x, ok, *_ = simulate_sets(jax.random.key(1), problem, z, 4)
    np.testing.assert_array_equal(ok, [[True, True, False, True]] * 7)
    # mu + 1 is near zero for one mu, and keeps the rounding of numbers near one: 1e-7
    np.testing.assert_allclose(x, (mu[:, None] + np.arange(4)) * ok, rtol=1e-6, atol=5e-7)
    chunks = simulate_chunks(jax.random.key(1), problem, z, 4, chunk_size=3)
    together = np.concatenate([chunk.draws.x[: chunk.rows] for chunk in chunks])
    np.testing.assert_array_equal(together, x)


def test_the_shape_of_its_draws_is_checked_before_the_first():
    with pytest.raises(ValueError, match=r"observed: expected the shape \(N,\), because"):
        pliant.Problem({"mu": dist.Normal(0, 1)}, Table(), np.zeros((4, 2)))
