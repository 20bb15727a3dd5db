"""Learned statistics: a few numbers of a long observation that tell most about the parameters."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import ndtri
from scipy.stats import rankdata

from pliant._deadline import check_time
from pliant.densities.embeddings import AbstractEmbedding
from pliant.densities.training import FULL, Effort, Training, train
from pliant.densities.weights import perceptron
from pliant.discrepancies.critic import critic_loss, held_out_critic_loss, untrained_critic
from pliant.discrepancies.draws import RoundDraws, TrainingDraws
from pliant.discrepancies.memory import Memory
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash

_TRAINING = Training(steps=3000, rate=2e-3, every=150, patience=20)
_ROUGH = Effort(steps=0.5)  # of the first training, which another follows at the target
_WIDTH = 32  # units behind the embedding, at least: they combine it with the conditions
_LEAST = 1e-6  # of the greatest variance of statistics: directions of less are noise of rounding
_BLOCK = 2**20  # numbers of observations that are summarised at a time


class Statistics(eqx.Module):
    """As many numbers as there are parameters, of a single observation.

    They are those of an exponential family that tells best which parameter an observation was
    made with (``Critic``). Near a parameter, the score of the likelihood is linear in them, and so
    they are locally sufficient. A network that tells badly only loses information: the likelihood
    of its numbers is learned as that of any data.

    What is lost shows in the means: with statistics that have the share f of the information, they
    are off by ``sqrt(1 / f - 1)`` of a width. On 20 Ornstein-Uhlenbeck series of 50 points, that
    is 0.25 for statistics that predict the parameters (least squares), and 0.1 for these.
    """

    network: Any
    body: eqx.nn.MLP
    shape: tuple[int, ...] = eqx.field(static=True)
    """Of an observation, as the network takes it."""

    def __call__(self, u: Float[Array, " d"], own: Float[Array, " e"]) -> Float[Array, " p"]:
        """The statistics of one observation."""
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
    """Train a network to tell parameters apart, from where the last training ended.

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
        that a linear prediction by them leaves unexplained.
    """
    build_key, body_key, critic_key, train_key = jax.random.split(key, 4)
    dim = problem.prior.dim
    if last is None:
        shape = embedding.input_shape(problem.event_shape)
        inputs = embedding.features + data.own.shape[2]
        statistics = Statistics(
            network=embedding.build(build_key, shape),
            body=perceptron(body_key, inputs, dim, max(_WIDTH, 2 * dim), 1),
            shape=shape,
        )
    else:
        statistics = last.statistics
    data = dataclasses.replace(data, part=jnp.asarray(-1))  # no parameter is left out
    critic = untrained_critic(critic_key, statistics, dim, data)
    effort = _ROUGH if last is None else FULL
    critic, _ = train(train_key, critic, data, critic_loss, held_out_critic_loss, _TRAINING, effort)
    newest = memory.draws[0]
    found = _statistics_of(critic.statistics, newest, squash)
    statistics = _whitened(critic.statistics, found[newest.ok])
    rounds = tuple(_statistics_of(statistics, draws, squash) for draws in memory.draws)
    known = rounds[0][newest.ok]
    spread = np.std(known, axis=0)
    scale = Squash(
        jnp.asarray(np.mean(known, axis=0)), jnp.asarray(np.where(spread > 0, spread, 1.0))
    )
    theta = np.asarray(data.condition[:dim, : data.n_particles]).T
    unexplained = _unexplained(known, np.repeat(theta, newest.ok.sum(axis=1), axis=0))
    return Summaries(statistics, squash, scale, rounds), unexplained


def _whitened(statistics: Statistics, found: Float[np.ndarray, "S p"]) -> Statistics:
    """Those linear combinations that are uncorrelated in some draws, with variances of one.

    A critic does not fix which combinations it finds, and nearly equal ones are hard for a density.
    """
    mean, covariance = found.mean(axis=0), np.atleast_2d(np.cov(found.T.astype(np.float64)))
    values, vectors = np.linalg.eigh(covariance)
    least = max(_LEAST * values[-1], float(np.finfo(np.float32).tiny))
    matrix = jnp.asarray((vectors / np.sqrt(np.maximum(values, least))).T, float)
    layer: Any = statistics.body.layers[-1]
    return eqx.tree_at(
        lambda s: (s.body.layers[-1].weight, s.body.layers[-1].bias),
        statistics,
        (matrix @ layer.weight, matrix @ (layer.bias - jnp.asarray(mean))),
    )


def _unexplained(found: Float[np.ndarray, "S p"], theta: Float[np.ndarray, "S p"]) -> float:
    """The share of the parameters' variance that is left by a linear prediction.

    It is made from the normal scores of the statistics, since a critic does not fix their scale.
    """
    theta = theta - theta.mean(axis=0)
    scores = ndtri(rankdata(found, axis=0) / (len(found) + 1))
    design = np.append(scores, np.ones((len(scores), 1)), axis=1)
    left = theta - design @ np.linalg.lstsq(design, theta)[0]
    return float(np.mean(np.sum(left**2, axis=0) / np.sum(theta**2, axis=0)))


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
