"""The simulated draws that the networks of a learned discrepancy are trained on."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from pliant.densities.contrast import HELD_OUT, n_training, training_index


class RoundDraws(eqx.Module):
    """The simulations of one round, as networks see them."""

    features: Float[np.ndarray, "K c"]
    """Of the parameters."""
    u: Float[np.ndarray, "K M d"]
    """The draws."""
    ok: Bool[np.ndarray, "K M"]


class TrainingDraws(eqx.Module):
    """What a network is trained on; rounds follow each other along C, the newest first."""

    condition: Float[Array, "c C"]
    """The parameters."""
    u: Float[Array, "C M d"]
    ok: Bool[Array, "C M"]
    rounds: Int[Array, ""]
    """How many rounds there are; the rest of C is padding."""
    newest_share: Float[Array, ""]
    """The share of the training that the newest round gets."""
    n_particles: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    def batch_rounds(self, key: Key[Array, ""], n: int) -> Int[Array, " n"]:
        """Random rounds, the newest with its share."""
        share_key, round_key = jax.random.split(key)
        older = jax.random.randint(round_key, (n,), 1, jnp.maximum(self.rounds, 2))
        newest = jax.random.uniform(share_key, (n,)) < self.newest_share
        return jnp.where(newest | (self.rounds == 1), 0, older)

    def batch_params(self, key: Key[Array, ""], rounds: Int[Array, " n"]) -> Int[Array, " B"]:
        """A random parameter for each place of a batch, none that is held out.

        Args:
            key: For the choice.
            rounds: The round of each place, or one for all.
        """
        n_trained = n_training(self.n_particles)
        place = jax.random.randint(key, (self.batch_size,), 0, n_trained)
        return rounds * self.n_particles + training_index(place)

    @property
    def held_out_params(self) -> Int[Array, " H"]:
        """Every tenth parameter of the newest round."""
        return jnp.arange(0, self.n_particles, HELD_OUT)


def are_counts(x: Float[np.ndarray, "S d"]) -> Bool[np.ndarray, " d"]:
    """Which features are whole numbers everywhere."""
    return np.all(x == np.round(x), axis=0)


def dequantise(
    key: Key[Array, ""], x: Float[Array, "*batch d"], counts: Bool[np.ndarray, " d"]
) -> Float[Array, "*batch d"]:
    """Spread counts evenly over their unit interval; leave other features as they are."""
    noise = jax.random.uniform(key, x.shape) - 0.5
    return x + jnp.where(jnp.broadcast_to(jnp.asarray(counts), x.shape), noise, 0.0)
