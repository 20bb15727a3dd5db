"""What trainings on simulated draws share: the held-out split, and the contrastive loss."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

HELD_OUT = 10
"""Every tenth example is held out of the training: those with the indices 0, 10, 20, ..."""


def n_training(count: int | Array) -> int | Array:
    """How many of ``count`` examples are trained on."""
    return count - (count + HELD_OUT - 1) // HELD_OUT


def training_index(place: Int[Array, " B"]) -> Int[Array, " B"]:
    """The index of the training example at each place, counted without those held out."""
    return place + place // (HELD_OUT - 1) + 1


def atoms_of(
    index: Int[Array, " B"], offsets: Int[Array, " others"]
) -> tuple[Int[Array, "atoms B"], Bool[Array, "atoms B"]]:
    """The parameters that compete for each draw of a batch: its own, then those of other draws.

    Args:
        index: The parameter of each draw.
        offsets: How many places further on in the batch the other draws are.

    Returns:
        The parameters, and which of the others are the own one again, and so no atom.
    """
    n, all_offsets = len(index), jnp.append(0, offsets)[:, None]
    atom = index[(jnp.arange(n)[None] + all_offsets) % n]
    return atom, (atom == index[None]) & (all_offsets > 0)


def minus_log_shares(
    log_odds: Float[Array, "atoms B"], repeated: Bool[Array, "atoms B"]
) -> Float[Array, " B"]:
    """Minus the log share of each draw's own parameter among its atoms (Greenberg et al. 2019)."""
    log_odds = jnp.where(repeated, -jnp.inf, log_odds)
    return jax.nn.logsumexp(log_odds, axis=0) - log_odds[0]
