"""Gradient training with early stopping: held-out loss, decaying rate, clipping."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer, check_real

Model = TypeVar("Model")

_AVERAGING = 0.02  # the weight of the newest iterate in the running average


class Training(eqx.Module):
    """How a network is trained: Adam, with a running average of its iterates as the result.

    The average over some fifty steps has far less of the minibatches' noise than the last
    iterate; without it, the shares of a posterior's modes drift from round to round.

    Args:
        steps: The maximum number of gradient steps.
        rate: The initial learning rate of Adam; it decays to a hundredth along a cosine.
        clip: The maximum global norm of a gradient.
        every: Steps between two evaluations of the held-out loss.
        patience: Evaluations without improvement after which training stops.
    """

    steps: int = eqx.field(static=True, default=400)
    rate: float = eqx.field(static=True, default=1e-3)
    clip: float = eqx.field(static=True, default=5.0)
    every: int = eqx.field(static=True, default=50)
    patience: int = eqx.field(static=True, default=3)

    def __check_init__(self):
        check_integer("steps", self.steps, at_least=1)
        check_real("rate", self.rate, above=0)
        check_real("clip", self.clip, above=0)
        check_integer("every", self.every, at_least=1)
        check_integer("patience", self.patience, at_least=1)


class _TrainingState(eqx.Module):
    params: Any
    optimiser: Any
    average: Any
    best: Any
    best_loss: Float[Array, ""]
    check: Array
    last_gain: Array


@eqx.filter_jit
def train(
    key: Key[Array, ""],
    model: Model,
    data: Any,
    loss: Callable[[Model, Any, Key[Array, ""]], Float[Array, ""]],
    held_out_loss: Callable[[Model, Any], Float[Array, ""]],
    training: Training,
) -> tuple[Model, dict[str, Array]]:
    """Minimise ``loss(model, data, key)`` over the model's arrays.

    Both losses must be module-level functions, not closures created for each call: a second call
    then reuses the compiled code of the first.

    All steps run in one loop, whose arrays XLA updates in place. The model is not donated, because
    the previous round's model stays in use; donating would save 0.14 of 2.7 MiB and no time.

    Returns:
        The averaged model at its best held-out loss, and ``fit_steps`` and ``held_out``.
    """
    params, static = eqx.partition(model, eqx.is_inexact_array)
    checks = max(1, training.steps // training.every)
    schedule = optax.cosine_decay_schedule(training.rate, checks * training.every, alpha=0.01)
    optimiser = optax.chain(optax.clip_by_global_norm(training.clip), optax.adam(schedule))

    def held_out(params: Any) -> Float[Array, ""]:
        return held_out_loss(eqx.combine(params, static), data)

    def step(carry: tuple[Any, Any, Any], key: Key[Array, ""]) -> tuple[Any, None]:
        params, state, average = carry
        gradient = jax.grad(lambda p: loss(eqx.combine(p, static), data, key))(params)
        updates, state = optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return (params, state, optax.incremental_update(params, average, _AVERAGING)), None

    def check(progress: _TrainingState) -> _TrainingState:
        keys = jax.random.split(jax.random.fold_in(key, progress.check), training.every)
        start = (progress.params, progress.optimiser, progress.average)
        (params, state, average), _ = jax.lax.scan(step, start, keys)
        now = held_out(average)
        better = now < progress.best_loss
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), average, progress.best)
        return _TrainingState(
            params=params,
            optimiser=state,
            average=average,
            best=best,
            best_loss=jnp.where(better, now, progress.best_loss),
            check=progress.check + 1,
            last_gain=jnp.where(better, progress.check, progress.last_gain),
        )

    def unfinished(progress: _TrainingState) -> Array:
        waited = progress.check - 1 - progress.last_gain
        return (progress.check < checks) & (waited < training.patience)

    start = _TrainingState(
        params=params,
        optimiser=optimiser.init(params),
        average=params,
        best=params,
        best_loss=held_out(params),
        check=jnp.array(0),
        last_gain=jnp.array(-1),
    )
    end = jax.lax.while_loop(unfinished, check, start)
    info = {"fit_steps": end.check * training.every, "held_out": end.best_loss}
    return eqx.combine(end.best, static), info
