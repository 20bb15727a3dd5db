"""The simulated draws that the networks of a learned discrepancy are trained on."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from pliant.densities.contrast import HELD_OUT, n_training, training_index

_MOST_PRODUCTS = 64  # of parameters and conditions
_HELD_OUT_DRAWS = 50  # of a held-out parameter: more take longer than the training between


class Widths(NamedTuple):
    """How many numbers networks see."""

    numbers: int
    """Of an observation itself."""
    parameters: int
    own: int = 0
    """Of what an observation was made under."""
    kinds: int = 0


class Examples(eqx.Module):
    """Draws as a network sees them, with the batch last."""

    u: Float[Array, "d B"]
    """Standardised numbers, zero where they were not measured."""
    own: Float[Array, "e B"]
    """What a draw was made under."""
    kind: Float[Array, "kinds B"] | None
    """One for the kind of each draw, zero for the others."""
    seen: Bool[Array, "d B"] | None


class RoundDraws(eqx.Module):
    """The simulations of one round."""

    features: Float[np.ndarray, "K c"]
    """Of the parameters."""
    rows: Float[np.ndarray, "K M d"]
    """The numbers of the draws, counts spread over their unit interval."""
    own: Float[np.ndarray, "K M e"]
    """What each draw was made under."""
    kind: Int[np.ndarray, "K M"] | None
    seen: Bool[np.ndarray, "K M d"] | None
    ok: Bool[np.ndarray, "K M"]

    def repeated(self, n_draws: int) -> "RoundDraws":
        """With each draw as often as it takes to have ``n_draws``, a multiple of M, of them."""
        times = n_draws // self.ok.shape[1]
        if times == 1:
            return self
        rows, own, kind, seen, ok = jax.tree.map(
            lambda leaf: np.concatenate([leaf] * times, axis=1),
            (self.rows, self.own, self.kind, self.seen, self.ok),
        )
        return RoundDraws(self.features, rows, own, kind, seen, ok)


class Moments(eqx.Module):
    """Of the usable draws of each parameter: all that a Gaussian needs to know of them."""

    mean: Float[Array, "d C"]
    covariance: Float[Array, "d d C"]
    n: Float[Array, " C"]


class TrainingDraws(eqx.Module):
    """What a network is trained on; rounds follow each other along C, the newest first."""

    condition: Float[Array, "c C"]
    """The parameters."""
    u: Float[Array, "C M d"]
    own: Float[Array, "C M e"]
    kind: Int[Array, "C M"] | None
    seen: Bool[Array, "C M d"] | None
    ok: Bool[Array, "C M"]
    cumulative: Float[Array, " window"]
    """The shares of the training that the rounds get, summed up; zero for padding."""
    part: Int[Array, ""]
    """Which of ``parts`` of the parameters is left out; -1 for none."""
    parts: int = eqx.field(static=True)
    n_particles: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)
    n_kinds: int = eqx.field(static=True, default=0)
    moments: Moments | None = None
    """Of all draws, where they depend on nothing but their parameter; None if not wanted."""
    held_out_moments: Moments | None = None
    """Of the held-out draws of the held-out parameters."""

    @property
    def is_plain(self) -> bool:
        """Whether a draw depends on nothing but its parameter, and all its numbers are known."""
        return self.own.shape[2] == 0 and self.kind is None and self.seen is None

    def examples(self, param: Int[Array, " B"], draw: Int[Array, " B"]) -> Examples:
        """Some draws."""
        return Examples(
            u=self.u[param, draw].T,
            own=self.own[param, draw].T,
            kind=None if self.kind is None else one_hot(self.kind[param, draw], self.n_kinds),
            seen=None if self.seen is None else self.seen[param, draw].T,
        )

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

    def without_parts(self, networks: int) -> list["TrainingDraws"]:
        """For each network the draws without another part; one alone leaves nothing out."""
        parts = range(networks) if networks > 1 else [-1]
        return [dataclasses.replace(self, part=jnp.asarray(part)) for part in parts]

    def with_moments(self) -> "TrainingDraws":
        """With the moments of each parameter's draws."""
        param, n_draws = self.held_out_params, self.n_held_out_draws
        held_out = _moments(self.u[param, :n_draws], self.ok[param, :n_draws])
        moments = _moments(self.u, self.ok)
        return dataclasses.replace(self, moments=moments, held_out_moments=held_out)

    @property
    def held_out_params(self) -> Int[Array, " H"]:
        """Every tenth parameter of the newest round."""
        return jnp.arange(0, self.n_particles, HELD_OUT)

    @property
    def n_held_out_draws(self) -> int:
        """How many draws of each of them the held-out loss is computed from."""
        return min(_HELD_OUT_DRAWS, self.u.shape[1])


@eqx.filter_jit
def _moments(u: Float[Array, "C M d"], ok: Bool[Array, "C M"]) -> Moments:
    n = jnp.sum(ok, axis=1).astype(float)
    share = ok / jnp.maximum(n, 1)[:, None]
    u = jnp.where(ok[..., None], u, 0.0)
    mean = jnp.einsum("cm,cmd->cd", share, u)
    centred = u - mean[:, None]
    covariance = jnp.einsum("cm,cmd,cme->dec", share, centred, centred)
    return Moments(mean.T, covariance, n)


def one_hot(kind: Int[Array, " B"], n_kinds: int) -> Float[Array, "kinds B"]:
    """One in the row of each kind, zero in the others."""
    return (jnp.arange(n_kinds)[:, None] == kind[None]).astype(float)


def context(theta: Float[Array, "c #B"], own: Float[Array, "e B"]) -> Float[Array, "n #B"]:
    """What a density is conditioned on: a parameter, what a draw was made under, and products.

    An effect of a condition is often a parameter times the condition, as in a regression. With
    few of both, their products spare a network from learning to multiply.
    """
    if not len(own):
        return theta
    theta = jnp.broadcast_to(theta, (len(theta), own.shape[1]))
    parts = [theta, own]
    if _has_products(len(theta), len(own)):
        parts.append((theta[:, None] * own[None]).reshape(-1, own.shape[1]))
    return jnp.concatenate(parts)


def context_length(c: int, e: int) -> int:
    """The length of ``context``."""
    return c + e + (c * e if _has_products(c, e) else 0)


def context_change(
    factor: Float[Array, " c"], shift: Float[Array, " c"], e: int
) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
    """``matrix, offset``: what ``factor * theta + shift`` in place of theta does to ``context``."""
    c = len(factor)
    n = context_length(c, e)
    matrix, offset = np.eye(n, dtype=np.float32), np.zeros(n, np.float32)
    offset[:c] = shift
    matrix[:c, :c] = np.diag(np.asarray(factor))
    if n > c + e:
        matrix[c + e :, c + e :] = np.diag(np.repeat(np.asarray(factor), e))
        matrix[c + e :, c : c + e] = np.kron(np.asarray(shift)[:, None], np.eye(e))
    return jnp.asarray(matrix), jnp.asarray(offset)


def _has_products(c: int, e: int) -> bool:
    return 0 < c * e <= _MOST_PRODUCTS


def are_counts(x: Float[np.ndarray, "S d"]) -> Bool[np.ndarray, " d"]:
    """Which features are whole numbers everywhere."""
    return np.all(x == np.round(x), axis=0)


def dequantise(
    key: Key[Array, ""], x: Float[Array, "*batch d"], counts: Bool[np.ndarray, " d"]
) -> Float[Array, "*batch d"]:
    """Spread counts evenly over their unit interval; leave other features as they are."""
    noise = jax.random.uniform(key, x.shape) - 0.5
    return x + jnp.where(jnp.broadcast_to(jnp.asarray(counts), x.shape), noise, 0.0)
