"""The i-projection of appendix A.3, for any family whose draws can be differentiated."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.families.base import AbstractDensity, AbstractModel
from pliant.training import Training, train

_DRAWS = 256  # reparameterised draws a step, where KL(q || proposal) has no closed form
_FLOOR = -50.0  # a log-weight of -inf would make the objective infinite for any q
_HELD_OUT = 0.2


def sampled_kl(
    key: Key[Array, ""], model: AbstractModel, proposal: AbstractDensity
) -> Float[Array, ""]:
    """KL(model || proposal), estimated from reparameterised draws of the model."""
    z, log_weights = model.draw(key, _DRAWS)
    return jnp.mean(jnp.exp(log_weights) * (model.log_prob(z) - proposal.log_prob(z)))


def reverse_project(
    key: Key[Array, ""],
    z: Float[Array, "K dim"],
    log_weights: Float[Array, " K"],
    proposal: AbstractDensity,
    init: AbstractModel,
    training: Training,
    kl: Callable[[Any, Any, Any], Float[Array, ""]] = sampled_kl,
) -> tuple[Any, dict[str, Any]]:
    """Minimise ``KL(q || proposal) - E_proposal[(q / proposal) log(w / Q)]``, from ``init`` on.

    Q is the mean weight. The second term is the paper's importance estimate over the
    proposal's samples, a share of which is held out to stop the descent. ``kl`` computes
    the first term; it must be a function that lives as long as the program.
    """
    log_mean_weight = jax.scipy.special.logsumexp(log_weights) - jnp.log(len(log_weights))
    data = {
        "z": z,
        "gain": jnp.maximum(log_weights - log_mean_weight, _FLOOR),
        "log_proposal": proposal.log_prob(z),
        "proposal": proposal,
        "kl": kl,
        "held_out_key": jax.random.fold_in(key, 1),
    }
    return train(jax.random.fold_in(key, 0), init, data, _loss, _held_out_loss, training)


def _loss(model: AbstractModel, data: dict[str, Any], key: Key[Array, ""]) -> Array:
    return _objective(model, data, key, slice(_held_out(data), None))


def _held_out_loss(model: AbstractModel, data: dict[str, Any]) -> Array:
    return _objective(model, data, data["held_out_key"], slice(None, _held_out(data)))


def _held_out(data: dict[str, Any]) -> int:
    return max(1, int(_HELD_OUT * len(data["z"])))


def _objective(
    model: AbstractModel, data: dict[str, Any], key: Key[Array, ""], rows: slice
) -> Array:
    ratio = jnp.exp(model.log_prob(data["z"][rows]) - data["log_proposal"][rows])
    return data["kl"](key, model, data["proposal"]) - jnp.mean(ratio * data["gain"][rows])
