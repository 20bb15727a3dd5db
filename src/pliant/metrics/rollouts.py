"""Motions of the Furuta pendulum with posterior draws, from the initial states of true motions."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from pliant._checks import check_seed
from pliant.tasks.furuta import FurutaTask


def rollout_error(task: FurutaTask, theta: PyTree, *, seed: int = 0) -> float:
    r"""The mean over draws of the paper's accumulated error :math:`\sum_i |x^\star_i - x_i|`.

    For each draw, both pendulums start from the same random initial state, so their motions
    differ by the parameters alone. The sum runs over 100 steps and 6 features.

    Args:
        task: The pendulum.
        theta: Posterior draws, name to ``(K,)``.
        seed: The seed of the initial states.

    Returns:
        The error, which is exactly zero at the truth.
    """
    n = len(jax.tree.leaves(theta)[0])
    keys = jax.random.split(jax.random.key(check_seed("seed", seed)), n)
    states = jax.vmap(task.initial_state)(keys)
    truth = {name: jnp.full(n, value) for name, value in task.truth.items()}
    drawn = {name: jnp.asarray(theta[name], float) for name in truth}
    errors = jnp.abs(_rollouts(task, drawn, states) - _rollouts(task, truth, states))
    return float(errors.sum(axis=(1, 2)).mean())


@eqx.filter_jit
def _rollouts(
    task: FurutaTask, theta: dict[str, Array], states: Float[Array, "K 4"]
) -> Float[Array, "K 100 6"]:
    return jax.vmap(task.rollout)(theta, states)
