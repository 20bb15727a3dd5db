"""The learned KL by contrast: which of several parameters made this draw?"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer
from pliant.densities.contrast import atoms_of, minus_log_shares
from pliant.densities.embeddings import AbstractEmbedding, as_points
from pliant.densities.training import FULL, Effort, Training, train
from pliant.densities.weights import perceptron
from pliant.discrepancies.draws import Examples, TrainingDraws, Widths
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, AbstractNetwork
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.mmd import MMD
from pliant.problem.problem import Problem


class RatioKL(AbstractLearnedDiscrepancy):
    """A network f(x, theta) that distinguishes each draw's own parameter from others.

    Trained on batches of one round's pairs to give the own parameter the largest share of
    ``exp f`` among the atoms, it tends to ``log p(x | theta)`` up to a function of x alone, for
    data of any kind and length.

    Args:
        embedding: A network that shortens long observations first, such as trajectories or
            images; an observation of the shape ``(T, ...)`` is embedded as T points.
        atoms: Parameters that compete for a draw, its own among them.
        width: Units in each of the three hidden layers.
        training: Steps, rate and early stopping of each round.
        batch_size: Draws in a gradient step.
        window: Rounds whose draws are kept to train on.
        networks: How many networks are averaged.
        n_evaluated: Particles that are weighted in a round, without simulating them; None for
            5000, or fewer with more than 1000 observations, 2000 at least.
        defensive_share: The share of a round's simulations with parameters of an earlier, broader
            posterior; None for none.
        approach: What the first rounds compare sets by, to come near the posterior before
            anything is learned; None to learn from the first round on.
    """

    by_kind: ClassVar[bool] = False

    embedding: AbstractEmbedding | None = None
    atoms: int = eqx.field(static=True, default=16)
    width: int = eqx.field(static=True, default=100)
    training: Training = Training(steps=2000, rate=1e-3, every=100, patience=20)
    batch_size: int = eqx.field(static=True, default=250)
    window: int = eqx.field(static=True, default=12)
    networks: int = eqx.field(static=True, default=3)
    n_evaluated: int | None = eqx.field(static=True, default=None)
    defensive_share: float | None = eqx.field(static=True, default=0.5)
    approach: AbstractMeasuredDiscrepancy | None = MMD()

    def __check_init__(self):
        if self.embedding is not None:
            check_instance("embedding", self.embedding, AbstractEmbedding, "pliant.Concatenation()")
        check_integer("atoms", self.atoms, at_least=2)
        check_integer("width", self.width, at_least=1)
        check_integer("batch_size", self.batch_size, at_least=self.atoms)

    def check(self, problem: Problem) -> None:
        """Any observations will do that the embedding takes."""
        if self.embedding is not None:
            shape = self.embedding.input_shape(problem.event_shape)
            self.embedding.build(jax.random.key(0), shape)

    def untrained(
        self, key: Key[Array, ""], problem: Problem, widths: Widths, like: Any = None
    ) -> "RatioNetwork":
        """The same value for every pair."""
        embed_key, body_key = jax.random.split(key)
        length, network = widths.numbers, None
        points = as_points(problem.event_shape)
        if self.embedding is not None:
            points = self.embedding.input_shape(problem.event_shape)
            network = self.embedding.build(embed_key, points)
            length = self.embedding.features
        inputs = length + widths.own + widths.parameters
        body = perceptron(body_key, inputs, "scalar", self.width, 3)
        body = eqx.tree_at(lambda m: m.layers[-1].weight, body, replace_fn=jnp.zeros_like)
        return RatioNetwork(embedding=network, body=body, points=points)

    def trained(
        self,
        key: Key[Array, ""],
        network: "RatioNetwork",
        data: TrainingDraws,
        effort: Effort = FULL,
    ) -> tuple["RatioNetwork", dict[str, Array]]:
        """The contrastive loss, on all kept rounds."""
        given = data, _Atoms(self.atoms)
        losses = _loss, _held_out_loss
        return train(key, network, given, *losses, self.training, effort)

    def held_out_loss(self, network: "RatioNetwork", data: TrainingDraws) -> Float[Array, ""]:
        """Minus the log share of the own parameters."""
        return _held_out_loss(network, (data, _Atoms(self.atoms)))

    def averaged(
        self,
        log_values: Float[np.ndarray, "networks K N"],
        shares: Float[np.ndarray, " networks"],
    ) -> Float[np.ndarray, "K N"]:
        """The mean of the log ratios: each network has an unknown constant of each observation."""
        return np.einsum("j,jkn->kn", shares, log_values)


class RatioNetwork(AbstractNetwork):
    """A perceptron of the (embedded) observation and the parameter."""

    embedding: Any
    body: eqx.nn.MLP
    points: tuple[int, ...] = eqx.field(static=True)

    def log_values(self, x: Examples, theta: Float[Array, "c #B"]) -> Float[Array, " B"]:
        """Log ratios of ``B`` pairs, up to a constant of each observation."""
        return self.of_embedded(self.embedded(x), theta)

    def embedded(self, x: Examples) -> Float[Array, "e B"]:
        """The observations, with what they were made under, as the perceptron sees them."""
        if self.embedding is None:
            return jnp.concatenate([x.u, x.own])
        embedded = jax.vmap(lambda v: self.embedding(v.reshape(self.points)), 1, 1)(x.u)
        return jnp.concatenate([embedded, x.own])

    def of_embedded(self, e: Float[Array, "e B"], theta: Array) -> Float[Array, " B"]:
        """Log ratios, where the observations are embedded already."""
        theta = jnp.broadcast_to(theta, (len(theta), e.shape[1]))
        return jax.vmap(self.body, in_axes=1)(jnp.concatenate([e, theta]))

    def with_parameters(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "RatioNetwork":
        """The first layer is linear in the parameters, which come last."""
        first: Any = self.body.layers[0]
        own, condition = first.weight[:, : -len(shift)], first.weight[:, -len(shift) :]
        return eqx.tree_at(
            lambda n: (n.body.layers[0].weight, n.body.layers[0].bias),
            self,
            (
                jnp.concatenate([own, condition * factor[None]], axis=1),
                first.bias + condition @ shift,
            ),
        )


class _Atoms(eqx.Module):
    number: int = eqx.field(static=True)


def _loss(network: RatioNetwork, given: tuple[TrainingDraws, _Atoms], key: Key[Array, ""]) -> Array:
    """Over random draws of one round: atoms of a broader one are too easy to tell apart."""
    data, atoms = given
    round_key, param_key, draw_key, atom_key = jax.random.split(key, 4)
    param = data.batch_params(param_key, data.batch_rounds(round_key, 1))
    draw = jax.random.randint(draw_key, (data.batch_size,), 0, data.u.shape[1])
    others = 1 + jax.random.permutation(atom_key, data.batch_size - 1)[: atoms.number - 1]
    return _mean_loss(network, data, param, draw, others)


@eqx.filter_jit
def _held_out_loss(network: RatioNetwork, given: tuple[TrainingDraws, _Atoms]) -> Array:
    """Over every tenth parameter of the newest round, with up to ten draws of each."""
    data, atoms = given
    param = data.held_out_params
    others = jnp.arange(1, min(atoms.number, len(param)))
    draws = jnp.arange(min(10, data.u.shape[1]))
    losses = jax.lax.map(
        lambda d: _mean_loss(network, data, param, jnp.full(len(param), d), others), draws
    )
    return jnp.mean(losses)


def _mean_loss(
    network: RatioNetwork, data: TrainingDraws, param: Array, draw: Array, offsets: Array
) -> Array:
    """Minus the mean log share of each draw's own parameter; unusable draws do not count."""
    atom, repeated = atoms_of(param, offsets)
    e = network.embedded(data.examples(param, draw))
    condition = data.condition[:, atom.ravel()]
    log_odds = network.of_embedded(jnp.tile(e, len(atom)), condition).reshape(atom.shape)
    ok, losses = data.ok[param, draw], minus_log_shares(log_odds, repeated)
    return jnp.sum(jnp.where(ok, losses, 0.0)) / jnp.maximum(jnp.sum(ok), 1)
