"""Automatic Posterior Transformation (SNPE-C), Greenberg et al. 2019."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer
from pliant.densities.amortised import AmortisedDensity
from pliant.densities.base import AbstractDensity, is_finite
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.densities.contrast import (
    HELD_OUT,
    atoms_of,
    minus_log_shares,
    n_training,
    training_index,
)
from pliant.densities.embeddings import AbstractEmbedding, Concatenation
from pliant.densities.training import Training, train
from pliant.methods.base import AbstractMethod, Outcome, Rows, Stop
from pliant.methods.status import Status
from pliant.problem.points import observed_points, points
from pliant.problem.problem import Problem
from pliant.problem.scale import fit_squash
from pliant.problem.sets import check_sets, simulate_sets

_FEWEST_PAIRS = 20
# Nats by which each of the last two rounds may move the posterior. On Gaussian location with two
# observations (10 parameters), rounds from the third on, where it is accurate, moved it by 0.13 and
# less, and the second by 0.8. Where it was not accurate, the last of five rounds moved it by 0.24
# (drift diffusion with 100 observations), and each of eight by 0.22 and more (SLCP with 10).
_MOVED = 0.15


class APT(AbstractMethod):
    """A conditional flow q(theta | observations) that is trained on simulated sets.

    Each round draws parameters from the last q at the observed set, simulates a set of N for
    each, and trains on all pairs so far: by maximum likelihood in round one, where parameters
    come from the prior; then by telling each set's own parameter from atoms, parameters of
    other sets, with the odds ``q(theta | x) / p(theta)``, which no proposal can bias.

    The posterior can be conditioned on other observations: ``Posterior.given(observed)``.

    Args:
        rounds: The number of rounds.
        n_particles: Parameters in a round, each with a set of N simulated observations.
        embedding: ``Concatenation()`` of the N observations, as in the paper, or ``DeepSet()``.
        atoms: Parameters that compete for a set, its own among them (the paper: 10).
        layers: Coupling layers (the paper: 5).
        bins: Bins of each spline (the paper: 10).
        width: Units in each hidden layer of the flow's networks (the paper: 32).
        depth: Hidden layers of the flow's networks (the paper: 3).
        training: Steps, rate and early stopping of each round.
        batch_size: Sets in a gradient step.
        warm_start: Whether a round goes on with the last round's networks; otherwise it begins
            anew, as in the code of the paper's authors.
        window: Rounds whose pairs are kept to train on, to bound the memory; None keeps all.
    """

    rounds: int = eqx.field(static=True, default=10)
    n_particles: int = eqx.field(static=True, default=2000)
    embedding: AbstractEmbedding = Concatenation()
    atoms: int = eqx.field(static=True, default=10)
    layers: int = eqx.field(static=True, default=5)
    bins: int = eqx.field(static=True, default=10)
    width: int = eqx.field(static=True, default=32)
    depth: int = eqx.field(static=True, default=2)
    training: Training = Training(steps=1000, rate=1e-3, every=50, patience=10)
    batch_size: int = eqx.field(static=True, default=100)
    warm_start: bool = eqx.field(static=True, default=True)
    window: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_integer("rounds", self.rounds, at_least=1)
        check_integer("n_particles", self.n_particles, at_least=2 * _FEWEST_PAIRS)
        check_instance("embedding", self.embedding, AbstractEmbedding, "pliant.DeepSet()")
        check_integer("atoms", self.atoms, at_least=2)
        for name in ("layers", "width", "depth"):
            check_integer(name, getattr(self, name), at_least=1)
        check_integer("bins", self.bins, at_least=2)
        check_instance("training", self.training, Training, "pliant.Training()")
        check_integer("batch_size", self.batch_size, at_least=self.atoms)
        check_instance("warm_start", self.warm_start, bool, "True")
        if self.window is not None:
            check_integer("window", self.window, at_least=1)

    @classmethod
    def paper(cls, **options: Any) -> "APT":
        """The settings of the paper's experiments (Table C.3): 20 rounds of 5000 sets.

        A run is long: each round begins with new networks and makes 10,000 steps at a rate of
        1e-5. That is 1000 passes over 5000 sets, as in the code of the paper's authors; the
        table does not tell.

        Args:
            **options: Anything that APT takes, in place of the paper's setting.
        """
        settings = {
            "rounds": 20,
            "n_particles": 5000,
            "embedding": Concatenation(),
            "atoms": 10,
            "layers": 5,
            "bins": 10,
            "width": 32,
            "depth": 3,
            "training": Training.plain(steps=10_000, rate=1e-5),
            "batch_size": 500,
            "warm_start": False,
        }
        return cls(**{**settings, **options})

    def resolved(self, problem: Problem) -> "APT":
        """The same: nothing depends on the problem."""
        return self

    def simulations_per_round(self, problem: Problem) -> int:
        """K times N."""
        return self.n_particles * problem.n_obs

    def check_memory(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if the sets of a round cannot fit into memory."""
        check_sets(problem, self.n_particles, problem.n_obs, limited="n_particles")

    def init(self, key: Key[Array, ""], problem: Problem) -> tuple["APTState", int]:
        """Nothing is known yet."""
        return APTState(density=None, pairs=()), 0

    def step(self, key: Key[Array, ""], problem: Problem, state: "APTState") -> Outcome:
        """Simulate at the last posterior's draws and train on everything so far."""
        sample_key, simulate_key, start_key, train_key, moved_key = jax.random.split(key, 5)
        proposal = problem.prior if state.density is None else state.density
        z = proposal.sample(sample_key, self.n_particles)
        draws = simulate_sets(simulate_key, problem, z, problem.n_obs)
        cost = self.simulations_per_round(problem)
        whole = np.all(draws.ok, axis=1)
        row: dict[str, Any] = {"usable": float(np.mean(draws.ok)), "sets": int(whole.sum())}
        if whole.sum() < _FEWEST_PAIRS:
            return Outcome(state, row, cost, _nothing_usable(int(whole.sum()), self.n_particles))

        usable = jax.tree.map(lambda array: array[whole], draws)
        x = np.asarray(points(problem, usable.x, usable.under, usable.seen))
        pairs = Pairs(
            z=np.asarray(z)[whole],
            x=x.reshape(int(whole.sum()), problem.n_obs, -1),
            log_prior=np.asarray(problem.prior.log_prob(z))[whole],
        )
        kept = (*state.pairs, pairs)[-(self.window or self.rounds) :]
        first = state.density is None
        loss, held_out = (
            (_likelihood, _held_out_likelihood) if first else (_atomic, _held_out_atomic)
        )
        density = state.density
        if density is None or not self.warm_start:
            density = self._start(start_key, problem, kept[0])
        data = self._data(kept, density.squash)
        model = (density.flow, density.network)
        held_out = held_out if self.training.selection else None
        model, info = train(train_key, model, data, loss, held_out, self.training)
        density = dataclasses.replace(density, flow=model[0], network=model[1])
        row |= {name: np.asarray(value).item() for name, value in info.items()}
        if not is_finite(density):
            return Outcome(state, row, cost, _diverged())
        # as many draws as a round has: another number would have to be compiled
        row["moved"] = _divergence(density, proposal, density.sample(moved_key, self.n_particles))
        return Outcome(APTState(density=density, pairs=kept), row, cost, None)

    def shortfall(self, problem: Problem, state: "APTState", rows: Rows) -> str:
        """By how much the last rounds still moved the posterior, if that is too much.

        The larger of two counts: a round whose held-out loss never fell keeps the flow as it was.
        """
        moved = max(row.get("moved", 0.0) for row in rows[-2:])
        if moved <= _MOVED:
            return ""
        if len(rows) == 1:
            return (
                f"The round moved the posterior by {moved:.2g} nats from the prior, and no other "
                "has confirmed it at these observations. Use more rounds, unless it is for others."
            )
        return (
            f"One of the last two rounds moved the posterior by {moved:.2g} nats, more than "
            f"{_MOVED:g}: more rounds would move it too. Use more rounds or a larger budget."
        )

    def posterior(self, state: "APTState") -> AmortisedDensity | None:
        """The flow at the observed set."""
        return state.density

    def _start(self, key: Key[Array, ""], problem: Problem, pairs: "Pairs") -> AmortisedDensity:
        d, own = pairs.x.shape[-1], observed_points(problem)
        observed = np.asarray(own).reshape(problem.n_obs, d)
        squash = fit_squash(observed, pairs.x.reshape(-1, d))
        flow_key, network_key = jax.random.split(key)
        flow = ConditionalFlow(
            flow_key,
            dim=problem.prior.dim,
            condition_dim=self.embedding.features,
            layers=self.layers,
            bins=self.bins,
            width=self.width,
            depth=self.depth,
        )
        network = self.embedding.build(network_key, observed.shape)
        return AmortisedDensity(
            flow=flow,
            network=network,
            squash=squash,
            observed=problem.observed,
            extras=own[:, -problem.extras :] if problem.extras else None,
        )

    def _data(
        self, rounds: tuple["Pairs", ...], squash: Callable[[Array], Array]
    ) -> "_TrainingSets":
        """All pairs in arrays of one size for every round, to avoid recompilation."""
        pairs = jax.tree.map(lambda *leaves: np.concatenate(leaves), *rounds)
        capacity = self.n_particles * (self.window or self.rounds)
        rest = capacity - len(pairs.z)
        padded = jax.tree.map(
            lambda a: np.pad(a, [(0, rest)] + [(0, 0)] * (a.ndim - 1)).astype(np.float32), pairs
        )
        features = squash(padded.x)
        return _TrainingSets(
            z=jnp.asarray(padded.z).T,
            features=features,
            log_prior=jnp.asarray(padded.log_prior),
            count=jnp.asarray(len(pairs.z)),
            atoms=self.atoms,
            batch_size=self.batch_size,
            n_particles=self.n_particles,
            hold_out=self.training.selection,
        )


class APTState(eqx.Module):
    """What a run of APT knows after a round."""

    density: AmortisedDensity | None
    pairs: tuple["Pairs", ...]
    """Parameters and sets of the rounds that are kept."""


class Pairs(eqx.Module):
    """The usable parameters and sets of a round."""

    z: Float[np.ndarray, "K dim"]
    x: Float[np.ndarray, "K N d"]
    log_prior: Float[np.ndarray, " K"]


class _TrainingSets(eqx.Module):
    z: Float[Array, "dim C"]
    features: Float[Array, "C N d"]
    log_prior: Float[Array, " C"]
    count: Array
    """How many of the C pairs are there."""
    atoms: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)
    n_particles: int = eqx.field(static=True)
    hold_out: bool = eqx.field(static=True)
    """Whether every tenth pair is kept out of the training."""


_Trained = tuple[ConditionalFlow, Any]  # the flow, and the embedding network


def _likelihood(model: _Trained, data: _TrainingSets, key: Key[Array, ""]) -> Array:
    return _minus_log_prob(model, data, _batch(key, data))


def _held_out_likelihood(model: _Trained, data: _TrainingSets) -> Array:
    return _minus_log_prob(model, data, _held_out_batch(data))


def _minus_log_prob(model: _Trained, data: _TrainingSets, index: Array) -> Array:
    flow, network = model
    condition = jax.vmap(network, out_axes=1)(data.features[index])
    return -jnp.mean(flow.log_prob(data.z[:, index], condition))


def _atomic(model: _Trained, data: _TrainingSets, key: Key[Array, ""]) -> Array:
    batch_key, atom_key = jax.random.split(key)
    return _minus_log_share(model, data, _batch(batch_key, data), atom_key)


def _held_out_atomic(model: _Trained, data: _TrainingSets) -> Array:
    return _minus_log_share(model, data, _held_out_batch(data), jax.random.key(0))


def _minus_log_share(
    model: _Trained, data: _TrainingSets, index: Array, key: Key[Array, ""]
) -> Array:
    """Minus the mean log share of each set's own parameter among its atoms."""
    flow, network = model
    condition = jax.vmap(network, out_axes=1)(data.features[index])
    offsets = 1 + jax.random.permutation(key, len(index) - 1)[: data.atoms - 1]
    atom, repeated = atoms_of(index, offsets)
    log_q = flow.log_prob(data.z[:, atom.ravel()], condition)
    log_odds = (log_q - data.log_prior[atom.ravel()]).reshape(atom.shape)
    return jnp.mean(minus_log_shares(log_odds, repeated))


def _batch(key: Key[Array, ""], data: _TrainingSets) -> Array:
    """Random pairs of one round, none of those that are held out.

    Atoms of one round are as near to each other as its proposal is narrow; atoms of broader
    rounds are too easy to tell apart to learn from.
    """
    round_key, pair_key = jax.random.split(key)
    n_train, per_round = data.count, data.n_particles
    if data.hold_out:
        n_train, per_round = n_training(data.count), per_round * (HELD_OUT - 1) // HELD_OUT
    n_rounds = (n_train + per_round - 1) // per_round
    start = per_round * jax.random.randint(round_key, (), 0, n_rounds)
    place = start + jax.random.randint(pair_key, (data.batch_size,), 0, per_round)
    place = jnp.minimum(place, n_train - 1)
    return training_index(place) if data.hold_out else place


def _held_out_batch(data: _TrainingSets) -> Array:
    """Every tenth pair of the newest round."""
    last = (data.count - 1) // HELD_OUT
    return HELD_OUT * jnp.maximum(last - jnp.arange(data.n_particles // HELD_OUT), 0)


def _divergence(p: AbstractDensity, q: AbstractDensity, z: Float[Array, "n dim"]) -> float:
    """KL(p || q), from draws of p."""
    return float(jnp.mean(p.log_prob(z) - q.log_prob(z)))


def _nothing_usable(n_sets: int, n_particles: int) -> Stop:
    return Stop(
        Status.FAILED,
        f"Only {n_sets} of {n_particles} simulated sets were usable as a whole. Check the "
        "simulator for parameters of the prior at which it fails, or narrow the prior.",
    )


def _diverged() -> Stop:
    return Stop(
        Status.DIVERGED, "The flow's training diverged. Lower the rate: Training(rate=3e-4)."
    )
