"""Gradient training: Adam with a decaying rate, clipping, averaging and early stopping."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer, check_real

Model = TypeVar("Model")


class Training(eqx.Module):
    """How a network is trained: Adam, with a running average of its iterates as the result.

    The average over some fifty steps has far less of the minibatches' noise than the last
    iterate; without it, the shares of a posterior's modes drift from round to round.
    ``Training.plain`` is Adam alone, as in the paper.

    Args:
        steps: The maximum number of gradient steps.
        rate: The initial learning rate of Adam.
        decay: The share of ``rate`` that is left after the last step, along a cosine; 1 keeps the
            rate constant.
        clip: The maximum global norm of a gradient; None for no limit.
        averaging: The weight of the newest iterate in the running average; 1 for no average.
        every: Steps between two evaluations of the held-out loss.
        patience: Evaluations without improvement after which training stops.
        selection: Whether the result is the model with the lowest held-out loss, and training
            stops when that no longer falls. Otherwise every step is made and the last model is
            the result; ``SplineFlow`` and ``APT`` then hold no sample out.
    """

    steps: int = eqx.field(static=True, default=400)
    rate: float = eqx.field(static=True, default=1e-3)
    decay: float = eqx.field(static=True, default=0.01)
    clip: float | None = eqx.field(static=True, default=5.0)
    averaging: float = eqx.field(static=True, default=0.02)
    every: int = eqx.field(static=True, default=50)
    patience: int = eqx.field(static=True, default=3)
    selection: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        check_integer("steps", self.steps, at_least=1)
        check_real("rate", self.rate, above=0)
        check_real("decay", self.decay, above=0, at_most=1)
        if self.clip is not None:
            check_real("clip", self.clip, above=0)
        check_real("averaging", self.averaging, above=0, at_most=1)
        check_integer("every", self.every, at_least=1)
        check_integer("patience", self.patience, at_least=1)
        check_instance("selection", self.selection, bool, "True")

    @classmethod
    def plain(cls, *, steps: int, rate: float) -> "Training":
        """Adam at a constant rate for a fixed number of steps, and nothing else."""
        return cls(
            steps=steps,
            rate=rate,
            decay=1.0,
            clip=None,
            averaging=1.0,
            every=min(steps, 1000),
            selection=False,
        )


def _scalar(value: float) -> np.ndarray:
    """As a NumPy array, since one of JAX would start its threads when this is imported."""
    return np.asarray(value, np.float32)


class Effort(eqx.Module):
    """Shares of a training's steps and of its rate; as arrays, so that they compile nothing."""

    steps: Float[np.ndarray, ""] = eqx.field(default=1.0, converter=_scalar)
    rate: Float[np.ndarray, ""] = eqx.field(default=1.0, converter=_scalar)


FULL = Effort()


class _TrainingState(eqx.Module):
    params: Any
    optimiser: Any
    average: Any
    best: Any
    best_loss: Float[Array, ""]
    check: Array
    last_gain: Array


# XLA's newer emitters of fused loops take half as long again to compile, and save a tenth of
# a step.
_COMPILER = {"xla_cpu_use_fusion_emitters": False}


@eqx.filter_jit(compiler_options=_COMPILER)  # pyright: ignore[reportCallIssue]
def train(
    key: Key[Array, ""],
    model: Model,
    data: Any,
    loss: Callable[[Model, Any, Key[Array, ""]], Float[Array, ""]],
    held_out_loss: Callable[[Model, Any], Float[Array, ""]] | None,
    training: Training,
    effort: Effort = FULL,
) -> tuple[Model, dict[str, Array]]:
    """Minimise ``loss(model, data, key)`` over the model's arrays.

    ``held_out_loss`` is that of samples that are not trained on; None if there are none. A second
    call reuses the compiled code of the first if both losses are module-level functions.

    Returns:
        The averaged model, at its best held-out loss if ``training.selection``; and ``fit_steps``
        and, where there are held-out samples, their loss ``held_out``.
    """
    params, static = eqx.partition(model, eqx.is_inexact_array)
    checks = _checks(training, effort.steps)
    select = training.selection and held_out_loss is not None
    optimiser = _optimiser(training, training.rate * effort.rate, checks * training.every)

    def held_out(params: Any) -> Float[Array, ""]:
        if held_out_loss is None:
            return jnp.zeros(())
        return held_out_loss(eqx.combine(params, static), data)

    def step(carry: tuple[Any, Any, Any], key: Key[Array, ""]) -> tuple[Any, None]:
        params, state, average = carry
        gradient = jax.grad(lambda p: loss(eqx.combine(p, static), data, key))(params)
        updates, state = optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return (params, state, optax.incremental_update(params, average, training.averaging)), None

    def check(progress: _TrainingState) -> _TrainingState:
        keys = jax.random.split(jax.random.fold_in(key, progress.check), training.every)
        start = (progress.params, progress.optimiser, progress.average)
        (params, state, average), _ = jax.lax.scan(step, start, keys)
        now = held_out(average)
        better = now < progress.best_loss if select else jnp.asarray(True)
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
    info = {"fit_steps": end.check * training.every}
    if held_out_loss is not None:
        info["held_out"] = end.best_loss
    return eqx.combine(end.best, static), info


def _checks(training: Training, share: Any) -> Array:
    """How often the held-out loss is evaluated."""
    most = max(1, training.steps // training.every)
    return jnp.maximum(jnp.round(most * share), 1)


def _optimiser(training: Training, start: Any, steps: Array) -> optax.GradientTransformation:
    def rate(count: Any) -> Array:
        falling = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(count / steps, 1.0)))
        return start * (training.decay + (1 - training.decay) * falling)

    adam = optax.adam(rate)
    if training.clip is None:
        return adam
    return optax.chain(optax.clip_by_global_norm(training.clip), adam)
