"""Learned statistics: a few numbers of a long observation that tell most about the parameters."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._deadline import check_time
from pliant.densities.embeddings import AbstractEmbedding
from pliant.densities.training import Training, train
from pliant.densities.weights import perceptron
from pliant.discrepancies.draws import RoundDraws, TrainingDraws
from pliant.discrepancies.memory import Memory
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash

_TRAINING = Training(steps=3000, rate=2e-3, every=150, patience=8)
_BATCH = 256
_HELD_OUT = 20  # draws of each held-out parameter: with fewer, noise decides when training ends
_NEAR = 2.0  # spreads of the newest parameters within which older ones count
_BLOCK = 2**20  # numbers of observations that are summarised at a time


class Statistics(eqx.Module):
    """What the parameters are expected to be, given a single observation.

    A network is trained to predict the parameters of a round's draws. Where a proposal is narrow,
    its prediction is linear in the score of the likelihood, and so are as many numbers as there
    are parameters locally sufficient. A network that predicts badly only loses information: the
    likelihood of its predictions is learned as that of any data.
    """

    network: Any
    body: eqx.nn.MLP
    shape: tuple[int, ...] = eqx.field(static=True)
    """Of an observation, as the network takes it."""

    def __call__(self, u: Float[Array, " d"], own: Float[Array, " e"]) -> Float[Array, " p"]:
        """The parameters that one observation tells of."""
        return self.body(jnp.concatenate([self.network(u.reshape(self.shape)), own]))


class Summaries(eqx.Module):
    """Statistics, and those of all rounds' draws."""

    statistics: Statistics
    squash: Squash
    """What the network sees observations through."""
    scale: Squash
    """That of the statistics of the newest draws when the network was trained."""
    rounds: tuple[Float[np.ndarray, "K M p"], ...]
    """The newest first."""

    def after(self, memory: Memory) -> "Summaries":
        """With the newest round."""
        newest = _statistics_of(self.statistics, memory.draws[0], self.squash)
        rounds = (newest, *self.rounds)[: len(memory.draws)]
        return dataclasses.replace(self, rounds=rounds)

    def of_observed(self, u: Float[Array, "N d"], own: Float[Array, "N e"]) -> Float[Array, "N p"]:
        """Those of the observations, at the networks' scale."""
        return self.scale(_in_block(self.statistics, u[None], own[None])[0])

    def shortened(self, memory: Memory) -> Memory:
        """The draws with their statistics in place of their numbers."""
        pairs = zip(memory.draws, self.rounds, strict=True)
        draws = tuple(dataclasses.replace(d, rows=rows, seen=None) for d, rows in pairs)
        return dataclasses.replace(memory, draws=draws)


def fit_summary(
    key: Key[Array, ""],
    embedding: AbstractEmbedding,
    problem: Problem,
    memory: Memory,
    squash: Squash,
    data: TrainingDraws,
    last: Summaries | None,
) -> tuple[Summaries, float]:
    """Train a network to predict the parameters, from where the last training ended.

    Args:
        key: For weights and batches.
        embedding: The kind of the network.
        problem: With the shape of an observation.
        memory: The draws of all rounds.
        squash: Their scale.
        data: The same draws, for the training.
        last: What was trained before.

    Returns:
        The statistics of all draws, and the share of the parameters' variance in the newest round
        that they leave unexplained.
    """
    build_key, body_key, train_key = jax.random.split(key, 3)
    if last is None:
        shape, dim = embedding.input_shape(problem.event_shape), problem.prior.dim
        inputs = embedding.features + data.own.shape[2]
        statistics = Statistics(
            network=embedding.build(build_key, shape),
            body=perceptron(body_key, inputs, dim, 2 * dim, 1),
            shape=shape,
        )
    else:
        statistics = last.statistics
    statistics, info = train(train_key, statistics, data, _loss, _held_out_loss, _TRAINING)
    rounds = tuple(_statistics_of(statistics, draws, squash) for draws in memory.draws)
    known = rounds[0][memory.draws[0].ok]
    spread = np.std(known, axis=0)
    scale = Squash(
        jnp.asarray(np.mean(known, axis=0)), jnp.asarray(np.where(spread > 0, spread, 1.0))
    )
    return Summaries(statistics, squash, scale, rounds), float(info["held_out"])


def _statistics_of(
    statistics: Statistics, draws: RoundDraws, squash: Squash
) -> Float[np.ndarray, "K M p"]:
    """Those of a round's draws, some at a time."""
    n, m, d = draws.rows.shape
    size = max(1, _BLOCK // (m * max(d, 1)))
    blocks = []
    for start in range(0, n, size):
        check_time()
        rows = np.minimum(np.arange(start, start + size), n - 1)  # padded: one size compiles once
        u = squash(jnp.asarray(draws.rows[rows]))
        u = u if draws.seen is None else jnp.where(draws.seen[rows], u, 0.0)
        blocks.append(np.asarray(_in_block(statistics, u, jnp.asarray(draws.own[rows]))))
    return np.concatenate(blocks)[:n]


@eqx.filter_jit
def _in_block(
    statistics: Statistics, u: Float[Array, "B M d"], own: Float[Array, "B M e"]
) -> Float[Array, "B M p"]:
    return jax.vmap(jax.vmap(statistics))(u, own)


def _loss(statistics: Statistics, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    round_key, param_key, draw_key = jax.random.split(key, 3)
    small = dataclasses.replace(data, batch_size=_BATCH)
    param = small.batch_params(param_key, small.batch_rounds(round_key, _BATCH))
    draw = jax.random.randint(draw_key, param.shape, 0, data.u.shape[1])
    return _error(statistics, data, param, draw)


@eqx.filter_jit
def _held_out_loss(statistics: Statistics, data: TrainingDraws) -> Array:
    """Over some draws of every tenth parameter of the newest round."""
    n_draws, param = min(_HELD_OUT, data.u.shape[1]), data.held_out_params
    draws = jnp.repeat(jnp.arange(n_draws), len(param))
    return _error(statistics, data, jnp.tile(param, n_draws), draws)


def _error(statistics: Statistics, data: TrainingDraws, param: Array, draw: Array) -> Array:
    """The mean squared error of the parameters, whose variance is one in the newest round.

    Parameters of broader rounds count the less the farther they are away.
    """
    found = jax.vmap(statistics)(data.u[param, draw], data.own[param, draw])
    wanted = data.condition[: found.shape[1], param].T
    near = jnp.exp(-jnp.mean(wanted**2, axis=1) / (2 * _NEAR**2))
    weight = jnp.where(data.ok[param, draw], near, 0.0)
    error = jnp.mean((found - wanted) ** 2, axis=1)
    return jnp.sum(weight * error) / jnp.maximum(jnp.sum(weight), 1e-6)
