"""The simulated draws that the networks of a learned discrepancy are trained on."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from pliant.densities.contrast import HELD_OUT, n_training, training_index


class RoundDraws(eqx.Module):
    """The simulations of one round."""

    features: Float[np.ndarray, "K c"]
    """Of the parameters."""
    rows: Float[np.ndarray, "K M d"]
    """The flattened draws, counts spread over their unit interval."""
    ok: Bool[np.ndarray, "K M"]


class TrainingDraws(eqx.Module):
    """What a network is trained on; rounds follow each other along C, the newest first."""

    condition: Float[Array, "c C"]
    """The parameters."""
    u: Float[Array, "C M d"]
    ok: Bool[Array, "C M"]
    cumulative: Float[Array, " window"]
    """The shares of the training that the rounds get, summed up; zero for padding."""
    part: Int[Array, ""]
    """Which of ``parts`` of the parameters is left out; -1 for none."""
    parts: int = eqx.field(static=True)
    n_particles: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    def batch_rounds(self, key: Key[Array, ""], n: int) -> Int[Array, " n"]:
        """Random rounds, each with its share."""
        uniform = jax.random.uniform(key, (n,)) * self.cumulative[-1]
        return jnp.searchsorted(self.cumulative, uniform, side="right")

    def batch_params(self, key: Key[Array, ""], rounds: Int[Array, " n"]) -> Int[Array, " B"]:
        """A random parameter for each place of a batch, none that is held out.

        Args:
            key: For the choice.
            rounds: The round of each place, or one for all.
        """
        n_trained = n_training(self.n_particles)
        group = (HELD_OUT - 1) * self.parts  # of parameters, of which every part has nine
        key, all_key = jax.random.split(key)
        place = jax.random.randint(all_key, (self.batch_size,), 0, n_trained)
        if self.parts > 1 and n_trained >= group:
            kept = group - (HELD_OUT - 1)
            some = jax.random.randint(key, (self.batch_size,), 0, n_trained // group * kept)
            within = some % kept
            within = within + jnp.where(within >= self.part * (HELD_OUT - 1), HELD_OUT - 1, 0)
            place = jnp.where(self.part < 0, place, some // kept * group + within)
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
