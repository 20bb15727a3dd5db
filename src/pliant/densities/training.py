"""Gradient training: Adam with a decaying rate, clipping, averaging and early stopping."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from pliant._checks import check_instance, check_integer, check_real
from pliant._deadline import check_time

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

    def slowed(self, factor: float) -> "Effort":
        """As many steps, at another share of the rate."""
        return Effort(float(self.steps), factor * float(self.rate))


FULL = Effort()


class _TrainingState(eqx.Module):
    params: Any
    optimiser: Any
    average: Any
    best: Any
    best_loss: Float[Array, ""]
    check: Int[Array, ""]
    last_gain: Int[Array, ""]
    unfinished: Bool[Array, ""]


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
    call reuses the compiled code of the first if both losses are module-level functions. The
    time is checked before every evaluation of the held-out loss.

    Returns:
        The averaged model, at its best held-out loss if ``training.selection``; and ``fit_steps``
        and, where there are held-out samples, their loss ``held_out``.
    """
    params, static = eqx.partition(model, eqx.is_inexact_array)
    problem = static, data, loss, held_out_loss, training, effort
    progress = _start(params, training)
    if held_out_loss is not None:  # of the start
        progress = _advanced(key, progress, *problem, jnp.asarray(0, int))
    while progress.unfinished:
        check_time()
        progress = _advanced(key, progress, *problem, jnp.asarray(training.every, int))
    info = {"fit_steps": progress.check * training.every}
    if held_out_loss is not None:
        info["held_out"] = progress.best_loss
    return eqx.combine(progress.best, static), info


def _start(params: Any, training: Training) -> _TrainingState:
    """Before the first step: everything that Adam knows is zero."""
    shapes = jax.eval_shape(_optimiser(training, training.rate, training.steps).init, params)
    return _TrainingState(
        params=params,
        optimiser=jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes),
        average=params,
        best=params,
        best_loss=jnp.asarray(jnp.inf, float),
        check=jnp.asarray(0, int),
        last_gain=jnp.asarray(-1, int),
        unfinished=jnp.asarray(True),
    )


# XLA's newer emitters of fused loops take half as long again to compile, and save a tenth of
# a step.
_COMPILER = {"xla_cpu_use_fusion_emitters": False}


@eqx.filter_jit(compiler_options=_COMPILER)  # pyright: ignore[reportCallIssue]
def _advanced(
    key: Key[Array, ""],
    progress: _TrainingState,
    static: Any,
    data: Any,
    loss: Callable[[Any, Any, Key[Array, ""]], Float[Array, ""]],
    held_out_loss: Callable[[Any, Any], Float[Array, ""]] | None,
    training: Training,
    effort: Effort,
    steps: Int[Array, ""],
) -> _TrainingState:
    """Some steps later, with the held-out loss there. Without a step, it is that of the start."""
    checks = _checks(training, effort.steps)
    optimiser = _optimiser(training, training.rate * effort.rate, checks * training.every)
    keys = jax.random.split(jax.random.fold_in(key, progress.check), training.every)

    def step(index: Array, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        params, state, average = carry
        gradient = jax.grad(lambda p: loss(eqx.combine(p, static), data, keys[index]))(params)
        updates, state = optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return params, state, optax.incremental_update(params, average, training.averaging)

    start = (progress.params, progress.optimiser, progress.average)
    params, state, average = jax.lax.fori_loop(0, steps, step, start)
    now, better = jnp.zeros(()), jnp.asarray(True)
    if held_out_loss is not None:
        now = held_out_loss(eqx.combine(average, static), data)
        better = (now < progress.best_loss) | (not training.selection)
    check = progress.check + (steps > 0)
    last_gain = jnp.where(better, check - 1, progress.last_gain)
    waits = check - 1 - last_gain < training.patience
    return _TrainingState(
        params=params,
        optimiser=state,
        average=average,
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), average, progress.best),
        best_loss=jnp.where(better, now, progress.best_loss),
        check=check,
        last_gain=last_gain,
        unfinished=(check < checks) & waits,
    )


def _checks(training: Training, share: Any) -> Array:
    """How often the held-out loss is evaluated."""
    most = max(1, training.steps // training.every)
    return jnp.maximum(jnp.round(most * share), 1)


def _optimiser(training: Training, start: Any, steps: Any) -> optax.GradientTransformation:
    def rate(count: Any) -> Array:
        falling = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(count / steps, 1.0)))
        return start * (training.decay + (1 - training.decay) * falling)

    adam = optax.adam(rate)
    if training.clip is None:
        return adam
    return optax.chain(optax.clip_by_global_norm(training.clip), adam)
