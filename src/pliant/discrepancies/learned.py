"""The KL of Lemma 1, learned: what the discrepancies that learn from round to round share.

With ``D = KL(p* || p(. | theta))`` and ``2 beta = 1 / N`` the pseudo-likelihood is the likelihood:
``N D = const - sum_i log p(x_i | theta)``. A network learns ``log p(x | theta)``, up to a constant
of x, from single simulated draws, and is then evaluated at any parameter without simulating it.
"""

import abc
import dataclasses
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from pliant._checks import check_instance, check_integer, check_real
from pliant.densities.training import Training
from pliant.discrepancies.view import View, seen_by_networks, theta_squash, view_of
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash, fit_squash

HELD_OUT = 10
"""Every tenth parameter of the newest round is held out of the training."""

_PAIRS = 2**15  # pairs of parameter and observation that are evaluated at a time
_COPIES = 4  # points at which the density of a count is averaged
_LEAST_SHARE = 0.01  # a network that counts less is not evaluated

Result = TypeVar("Result")


class AbstractLearnedDiscrepancy(eqx.Module):
    """A distance that is learned from the simulations of the rounds so far.

    A few networks, which begin with different weights and see different batches, learn from the
    same draws, at the same time where there are cores for it, and are averaged. Much of an error
    stems from where a network began and how it was trained: on SLCP, the average of three had a
    tenth to three fifths less error between modes than one. (Networks of successive rounds, each
    of which goes on from the last, share errors: averaging them gained next to nothing.)

    Older rounds get a larger share of the training while the networks that were trained on them
    predict the newest round's draws well: one that is a nat worse over all observations than after
    its training on the newest round counts a third.

    A network that is less well trained in one place than in another gives the observations less
    likelihood there, so that a mode with few draws would lose more and more of them. That is
    why some draws of each round are made with parameters of an earlier, wider posterior.
    """

    training: eqx.AbstractVar[Training]
    """Steps, rate and early stopping of each round."""
    batch_size: eqx.AbstractVar[int]
    """Draws in a gradient step."""
    window: eqx.AbstractVar[int]
    """Rounds whose draws are kept to train on."""
    networks: eqx.AbstractVar[int]
    """How many networks are averaged."""
    n_evaluated: eqx.AbstractVar[int]
    """Parameters that are weighed in a round, without simulating them."""
    defensive_share: eqx.AbstractVar[float | None]
    """The share of a round's simulations with parameters of an earlier, wider posterior."""

    def __check_init__(self):
        check_instance("training", self.training, Training, "pliant.Training()")
        for name in ("batch_size", "window", "networks"):
            check_integer(name, getattr(self, name), at_least=1)
        check_integer("n_evaluated", self.n_evaluated, at_least=100)
        if self.defensive_share is not None:
            check_real("defensive_share", self.defensive_share, above=0, below=1)

    def default_beta(self, n_obs: int) -> float:
        """``1 / (2 N)``, at which the pseudo-likelihood is the likelihood (Lemma 1)."""
        return 0.5 / n_obs

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if the observations do not suit the discrepancy."""

    @abc.abstractmethod
    def untrained(
        self, key: Key[Array, ""], problem: Problem, condition_dim: int
    ) -> "AbstractNetwork":
        """A new network, which sees a parameter as ``condition_dim`` numbers."""

    @abc.abstractmethod
    def trained(
        self, key: Key[Array, ""], network: Any, data: "Data"
    ) -> tuple[Any, dict[str, Array]]:
        """The network after a round's training, with ``fit_steps`` and ``held_out``."""

    @abc.abstractmethod
    def held_out_loss(self, network: Any, data: "Data") -> Float[Array, ""]:
        """Minus the mean log density of the newest round's held-out draws, or a bound of it."""

    @abc.abstractmethod
    def averaged(
        self,
        log_values: Float[np.ndarray, "networks K N"],
        shares: Float[np.ndarray, " networks"],
    ) -> Float[np.ndarray, "K N"]:
        """The networks' average, of which each has its share."""

    def learn(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: "LearnedState | None",
        z: Float[Array, "K dim"],
        x: Float[np.ndarray, "K M *event"],
        ok: Bool[np.ndarray, "K M"],
    ) -> tuple["LearnedState", dict[str, float]]:
        """Learn from a round's simulations.

        Args:
            key: For the networks' weights and batches.
            problem: With the observations.
            state: What the last round returned; None in the first.
            z: Parameters.
            x: Draws of each.
            ok: Which draws are usable.

        Returns:
            The new state, and numbers for the round's row.
        """
        start_key, noise_key, train_key = jax.random.split(key, 3)
        rows = x.reshape(*x.shape[:2], -1)
        if state is None:
            state = _first_state(problem, z, rows[ok])
        u = state.squash(_spread(noise_key, jnp.asarray(rows), state.counts))
        seen = seen_by_networks(problem, state.theta_squash, z)
        newest = Draws(seen=np.asarray(seen), u=np.asarray(u), ok=ok)
        draws = (newest, *state.draws)[: self.window]
        view = view_of(newest.seen)
        data = self._data(draws, view, newest_share=1 / (1 + state.in_accord))
        if state.networks:
            networks = state.seen_from(view)
            before = np.mean([float(self.held_out_loss(network, data)) for network in networks])
        else:
            keys = jax.random.split(start_key, self.networks)
            networks = [self.untrained(key, problem, seen.shape[1]) for key in keys]
            before = np.inf
        keys = jax.random.split(train_key, self.networks)
        found = _at_once(lambda key, network: self.trained(key, network, data), keys, networks)
        losses = np.array([float(info["held_out"]) for _, info in found])
        shares = np.exp(-problem.n_obs * (losses - losses.min()))
        gained = problem.n_obs * max(before - losses.mean(), 0.0)
        state = dataclasses.replace(
            state,
            draws=draws,
            view=view,
            networks=tuple(network for network, _ in found),
            shares=shares / shares.sum(),
            in_accord=1 + state.in_accord * float(np.exp(-gained)),
        )
        steps = max(int(info["fit_steps"]) for _, info in found)
        row = {"net_steps": steps, "net_loss": float(losses.min()), "accord": state.in_accord}
        return state, row

    def distances(
        self, problem: Problem, state: "LearnedState", z: Float[Array, "K dim"]
    ) -> tuple[Float[np.ndarray, " K"], dict[str, float]]:
        """``-mean_i log p(x_i | theta)``, up to a constant, without a simulation.

        Returns:
            The networks' mean, and ``disagreement``, their spread in nats over all observations.
        """
        observed = jnp.asarray(problem.observed).reshape(problem.n_obs, -1)
        copies = _COPIES if np.any(state.counts) else 1
        keys = jax.random.split(jax.random.key(0), copies)
        u = jnp.stack([state.squash(_spread(k, observed, state.counts)) for k in keys])
        seen = seen_by_networks(problem, state.theta_squash, z)
        counted = np.flatnonzero(state.shares > _LEAST_SHARE)
        shares = state.shares[counted] / state.shares[counted].sum()
        networks = [state.networks[index] for index in counted]
        each = np.stack(_at_once(lambda net: _log_values(net, state.view, u, seen), networks))
        mean = self.averaged(each, shares).mean(axis=1, dtype=np.float64)
        off = problem.n_obs * (each.mean(axis=2, dtype=np.float64) - mean)
        off = off - off.mean(axis=1, keepdims=True)  # a constant of theta is no disagreement
        return -mean, {"disagreement": float(np.sqrt(shares @ off**2).mean())}

    def _data(self, draws: tuple["Draws", ...], view: "View", *, newest_share: float) -> "Data":
        """The newest round first, in arrays of one size, so that nothing is compiled anew."""
        n_particles = len(draws[0].seen)
        missing = (self.window - len(draws)) * n_particles
        whole: Draws = jax.tree.map(lambda *leaves: np.concatenate(leaves), *draws)
        whole = jax.tree.map(lambda a: np.pad(a, [(0, missing)] + [(0, 0)] * (a.ndim - 1)), whole)
        return Data(
            condition=view(jnp.asarray(whole.seen)).T,
            u=jnp.asarray(whole.u),
            ok=jnp.asarray(whole.ok),
            rounds=jnp.asarray(len(draws)),
            newest_share=jnp.asarray(newest_share),
            n_particles=n_particles,
            batch_size=self.batch_size,
        )


class AbstractNetwork(eqx.Module):
    """A function of an observation and a parameter, both as they are seen by networks."""

    @abc.abstractmethod
    def log_values(
        self, u: Float[Array, "d B"], condition: Float[Array, "c B"]
    ) -> Float[Array, " B"]:
        """``log p(u | condition)`` of ``B`` pairs, up to a constant of u."""

    @abc.abstractmethod
    def with_condition(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "AbstractNetwork":
        """The network whose values at ``c`` are this one's at ``factor * c + shift``."""


class Draws(eqx.Module):
    """The simulations of one round, as the networks see them."""

    seen: Float[np.ndarray, "K c"]
    u: Float[np.ndarray, "K M d"]
    ok: Bool[np.ndarray, "K M"]


class LearnedState(eqx.Module):
    """What is known after a round."""

    squash: Squash
    """Of observations."""
    theta_squash: Squash
    counts: Bool[np.ndarray, " d"]
    """Which features are whole numbers."""
    draws: tuple[Draws, ...]
    """The newest round first."""
    view: View
    """Of parameters, in which the networks were trained."""
    networks: tuple[AbstractNetwork, ...]
    shares: Float[np.ndarray, " networks"]
    """How much each network counts in the average: by its likelihood of N held-out draws."""
    in_accord: float
    """The effective number of rounds whose networks predict the newest round's draws."""

    def seen_from(self, view: View) -> list[AbstractNetwork]:
        """The networks as the same functions of the parameters, written for another view."""
        factor, shift = view.spread / self.view.spread, self.view(view.centre)
        return [network.with_condition(factor, shift) for network in self.networks]


class Data(eqx.Module):
    """What a network is trained on; rounds follow each other along C, the newest first."""

    condition: Float[Array, "c C"]
    u: Float[Array, "C M d"]
    ok: Bool[Array, "C M"]
    rounds: Array
    """How many rounds are there; the rest of C is empty."""
    newest_share: Array
    """The share of the training that the newest round gets."""
    n_particles: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    def batch_rounds(self, key: Key[Array, ""], n: int) -> Array:
        """Random rounds, the newest by its share."""
        share_key, round_key = jax.random.split(key)
        older = jax.random.randint(round_key, (n,), 1, jnp.maximum(self.rounds, 2))
        newest = jax.random.uniform(share_key, (n,)) < self.newest_share
        return jnp.where(newest | (self.rounds == 1), 0, older)

    def batch_params(self, key: Key[Array, ""], rounds: Array) -> Array:
        """A random parameter of each round, none that is held out."""
        n_held_out = -(-self.n_particles // HELD_OUT)
        place = jax.random.randint(key, (self.batch_size,), 0, self.n_particles - n_held_out)
        return rounds * self.n_particles + place + place // (HELD_OUT - 1) + 1

    @property
    def held_out_params(self) -> Array:
        """Every tenth of the newest round."""
        return jnp.arange(0, self.n_particles, HELD_OUT)


def _first_state(
    problem: Problem, z: Float[Array, "K dim"], simulated: Float[np.ndarray, "S d"]
) -> LearnedState:
    observed = np.asarray(problem.observed).reshape(problem.n_obs, -1)
    squash = theta_squash(problem, z)
    return LearnedState(
        squash=fit_squash(observed, simulated),
        theta_squash=squash,
        counts=_are_counts(observed) & _are_counts(simulated),
        draws=(),
        view=view_of(np.asarray(seen_by_networks(problem, squash, z))),
        networks=(),
        shares=np.ones(0),
        in_accord=0.0,
    )


@eqx.filter_jit
def _log_values(
    network: AbstractNetwork,
    view: View,
    u: Float[Array, "copies N d"],
    seen: Float[Array, "K c"],
) -> Float[Array, "K N"]:
    """Of all observations, for all parameters, some at a time.

    Copies of an observation of counts are points of its unit cell: the mean of their
    densities estimates its probability.
    """
    copies, n, d = u.shape
    points = u.reshape(-1, d).T

    def one(seen: Array) -> Array:
        repeated = jnp.broadcast_to(view(seen)[:, None], (len(seen), copies * n))
        values = network.log_values(points, repeated).reshape(copies, n)
        return jax.nn.logsumexp(values, axis=0) - jnp.log(copies)

    return jax.lax.map(one, seen, batch_size=max(1, _PAIRS // (copies * n)))


def _at_once(function: Callable[..., Result], *arguments: Iterable[Any]) -> list[Result]:
    """The function's results for all arguments, in as many threads as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda *each: jax.block_until_ready(function(*each)), *arguments))


def _are_counts(x: Float[np.ndarray, "S d"]) -> Bool[np.ndarray, " d"]:
    return np.all(x == np.round(x), axis=0)


def _spread(
    key: Key[Array, ""], x: Float[Array, "*batch d"], counts: Bool[np.ndarray, " d"]
) -> Float[Array, "*batch d"]:
    """Counts spread evenly over their unit interval; other features as they are."""
    return x + jnp.where(jnp.asarray(counts), jax.random.uniform(key, x.shape) - 0.5, 0.0)
