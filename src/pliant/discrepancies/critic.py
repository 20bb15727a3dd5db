"""How statistics are trained: they must tell which parameter an observation was made with."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from pliant.densities.weights import perceptron, zeroed
from pliant.discrepancies.draws import TrainingDraws

_BATCH = 256  # draws of one round, whose parameters compete for each of them
_HELD_OUT = 60  # draws of each held-out parameter, over all rounds
_WIDTH = 32  # units of the parameters' network
_OFFSETS = 8  # numbers of what a draw was made under that the normalisation depends on
_FARTHEST = 10.0  # spreads of the newest parameters: the network sees older ones as if there


class Critic(eqx.Module):
    """``t(x) . eta(theta) - a(theta)``: the log-likelihood ratio of an exponential family.

    It is trained to find each draw's own parameter among those of other draws of the same round
    (InfoNCE, van den Oord et al. 2018). The loss is least where the critic is the log-likelihood,
    up to a constant of x, whatever the proposal was, so rounds of all widths can be mixed. A
    narrow round tells apart what a broad one does not, and a broad one has less noise.
    """

    statistics: Any
    natural: eqx.nn.MLP
    """The nonlinear part of eta, and a, for each number that an offset depends on."""
    slope: Float[Array, "p c"]
    """The linear part of eta."""
    offset: eqx.nn.MLP | None
    """What a depends on beside theta; None if draws are made under nothing."""

    def log_odds(
        self, u: Float[Array, "B d"], own: Float[Array, "B e"], theta: Float[Array, "c B"]
    ) -> Float[Array, "B B"]:
        """Of every draw (rows) and every parameter (columns)."""
        theta = jnp.clip(theta, -_FARTHEST, _FARTHEST)
        found = jax.vmap(self.statistics)(u, own)
        one = jnp.ones((len(u), 1))
        if self.offset is not None:
            one = jnp.concatenate([one, jax.vmap(self.offset)(own)], axis=1)
        eta = jax.vmap(self.natural, in_axes=1)(theta)
        eta = eta.at[:, : found.shape[1]].add(theta.T @ self.slope.T)
        return jnp.concatenate([found, one], axis=1) @ eta.T


def untrained_critic(
    key: Key[Array, ""], statistics: Any, n_statistics: int, data: TrainingDraws
) -> Critic:
    """A critic with new networks beside the statistics, for parameters as ``data`` has them.

    It begins with an eta that is linear in the parameters.
    """
    natural_key, slope_key, offset_key = jax.random.split(key, 3)
    c, e = len(data.condition), data.own.shape[2]
    offsets = 1 + (_OFFSETS if e else 0)
    natural = perceptron(natural_key, c, n_statistics + offsets, _WIDTH, 1)
    slope: Any = perceptron(slope_key, c, n_statistics, 1, 0).layers[0]
    return Critic(
        statistics=statistics,
        natural=eqx.tree_at(lambda n: n.layers[-1], natural, replace_fn=zeroed),
        slope=slope.weight,
        offset=perceptron(offset_key, e, _OFFSETS, _WIDTH, 1) if e else None,
    )


def critic_loss(critic: Critic, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    """Over random draws of one round: parameters of a broader one are too easy to tell apart."""
    round_key, param_key, draw_key = jax.random.split(key, 3)
    small = dataclasses.replace(data, batch_size=_BATCH)
    param = small.batch_params(param_key, small.batch_rounds(round_key, 1))
    draw = jax.random.randint(draw_key, param.shape, 0, data.u.shape[1])
    return _mean_loss(critic, data, param, draw)


@eqx.filter_jit
def held_out_critic_loss(critic: Critic, data: TrainingDraws) -> Array:
    """Over every tenth parameter of all rounds, which count as in the training.

    The newest round alone would not do. What is best for a mixture of rounds need not be best for
    the narrowest of them, and training would end where it began.
    """
    shares = jnp.diff(data.cumulative, prepend=0.0)
    rounds = len(data.cumulative)
    n_draws = max(1, min(_HELD_OUT // rounds, data.u.shape[1]))

    def of(index: Int[Array, " 2"]) -> Array:
        param = index[0] * data.n_particles + data.held_out_params
        return _mean_loss(critic, data, param, jnp.full(len(param), index[1]))

    pairs = jnp.stack(jnp.meshgrid(jnp.arange(rounds), jnp.arange(n_draws)), axis=-1)
    losses = jax.lax.map(of, pairs.reshape(-1, 2)).reshape(n_draws, rounds)
    return jnp.sum(jnp.mean(losses, axis=0) * shares) / jnp.sum(shares)


def _mean_loss(
    critic: Critic, data: TrainingDraws, param: Int[Array, " B"], draw: Int[Array, " B"]
) -> Array:
    """Minus the mean log share of each draw's own parameter among those of usable draws."""
    ok: Bool[Array, " B"] = data.ok[param, draw]
    log_odds = critic.log_odds(data.u[param, draw], data.own[param, draw], data.condition[:, param])
    log_odds = jnp.where(ok[None] | jnp.eye(len(ok), dtype=bool), log_odds, -jnp.inf)
    losses = jax.nn.logsumexp(log_odds, axis=1) - jnp.diagonal(log_odds)
    return jnp.sum(jnp.where(ok, losses, 0.0)) / jnp.maximum(jnp.sum(ok), 1)
