"""The i-projection of appendix A.3, for any family whose draws can be differentiated."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.base import AbstractDensity, AbstractModel, AbstractModelFamily
from pliant.densities.gaussian import GaussianDensity, gaussian_kl
from pliant.densities.training import train

_DRAWS = 256  # reparameterised draws per step, where KL(q || proposal) has no closed form
_FLOOR = -50.0  # a log-weight of -inf would make the objective infinite for any q
_HELD_OUT = 0.2


def reverse_project(
    key: Key[Array, ""],
    family: AbstractModelFamily,
    z: Float[Array, "K dim"],
    log_weights: Float[Array, " K"],
    proposal: AbstractDensity,
    init: AbstractDensity | None,
) -> tuple[AbstractModel, dict[str, Any]]:
    """The density q of the family with the smallest KL(q || target), starting at the m-projection.

    Minimises ``KL(q || proposal) - E_proposal[(q / proposal) log(w / Q)]``, where Q is the mean
    weight. The second term is the paper's importance estimate over the proposal's samples; a
    share of them is held out for early stopping.

    Args:
        key: For the m-projection and for reparameterised draws.
        family: What q can be.
        z: Samples of the proposal.
        log_weights: Their log-weights, up to a constant; the target is proportional to
            ``proposal(z) exp(log_weights)``.
        proposal: The density that ``z`` was drawn from.
        init: The previous round's density of this family; None in the first round.

    Returns:
        The density, and numbers for the round's history.
    """
    fit_key, train_key, held_out_key = jax.random.split(key, 3)
    start: Any = family.fit(fit_key, z, log_weights, init)[0]
    log_mean_weight = jax.scipy.special.logsumexp(log_weights) - jnp.log(len(log_weights))
    data = {
        "z": z,
        "gain": jnp.maximum(log_weights - log_mean_weight, _FLOOR),
        "log_proposal": proposal.log_prob(z),
        "proposal": proposal,
        "held_out_key": held_out_key,
    }
    return train(train_key, start, data, _loss, _held_out_loss, family.reverse_training)


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
    return _kl(key, model, data["proposal"]) - jnp.mean(ratio * data["gain"][rows])


def _kl(key: Key[Array, ""], model: AbstractModel, proposal: AbstractDensity) -> Float[Array, ""]:
    """KL(model || proposal): exact for Gaussians, else from reparameterised draws of the model."""
    if isinstance(model, GaussianDensity) and isinstance(proposal, GaussianDensity):
        return gaussian_kl(model, proposal)
    z, log_weights = model.draw(key, _DRAWS)
    return jnp.mean(jnp.exp(log_weights) * (model.log_prob(z) - proposal.log_prob(z)))
