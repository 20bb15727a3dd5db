"""What the networks of a learned discrepancy see of a parameter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pliant.problem.problem import Problem
from pliant.problem.scale import Squash, middle_squash
from pliant.problem.space import constrain_all


def seen_by_networks(
    problem: Problem, squash: Squash, z: Float[Array, "K dim"]
) -> Float[Array, "K c"]:
    """z, and beside it theta itself with its tails drawn in.

    What is simulated is often linear in theta where it is not in z: near the end of an interval.
    """
    return jnp.concatenate([z, squash(_flat_thetas(problem, z))], axis=1)


def theta_squash(problem: Problem, z: Float[Array, "K dim"]) -> Squash:
    """What draws in the tails of theta, from parameters of the first round."""
    return middle_squash(np.asarray(_flat_thetas(problem, z)))


class View(eqx.Module):
    """Parameters relative to a round's: a network sees them at the scale on which they vary."""

    centre: Float[Array, " c"]
    spread: Float[Array, " c"]

    def __call__(self, seen: Float[Array, "*batch c"]) -> Float[Array, "*batch c"]:
        """Centred and scaled parameters."""
        batch = range(seen.ndim - 1)
        centre, spread = (jnp.expand_dims(a, batch) for a in (self.centre, self.spread))
        return (seen - centre) / spread


def view_of(seen: Float[np.ndarray, "K c"]) -> View:
    """The view in which a round's parameters have the mean zero and the spread one."""
    spread = np.std(seen, axis=0)
    return View(jnp.asarray(np.mean(seen, axis=0)), jnp.asarray(np.where(spread > 0, spread, 1.0)))


def _flat_thetas(problem: Problem, z: Float[Array, "K dim"]) -> Float[Array, "K t"]:
    leaves = jax.tree.leaves(constrain_all(problem.prior.space, z))
    return jnp.concatenate([leaf.reshape(len(z), -1) for leaf in leaves], axis=1)
