"""The simulations of the rounds so far, which the networks of a learned discrepancy learn from."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant.discrepancies.draws import RoundDraws, TrainingDraws, Widths
from pliant.discrepancies.reading import Reading, fit_reading, read_observed
from pliant.problem.problem import Problem
from pliant.problem.scale import (
    Squash,
    Standardise,
    better_as_logs,
    fit_squash,
    flat_thetas,
    parameter_features,
    quartile_squash,
)
from pliant.problem.sets import Draws

_EVEN = 0.5  # of the training, shared by all rounds alike


class Sizes(NamedTuple):
    """The sizes of a training."""

    window: int
    """Rounds whose draws are kept."""
    parts: int
    """Parts of the parameters, of which each network leaves one out."""
    batch_size: int
    reach: float = np.inf
    """Deviations of the newest round's parameters, beyond which older ones are left out."""


class Memory(eqx.Module):
    """The simulations of the rounds so far."""

    theta_squash: Squash
    reading: Reading
    """How observations are read."""
    draws: tuple[RoundDraws, ...]
    """The newest round first."""

    def with_round(
        self,
        key: Key[Array, ""],
        problem: Problem,
        z: Float[Array, "K dim"],
        draws: Draws,
        window: int,
    ) -> "Memory":
        """With the draws of another round, and without the oldest of more than ``window``."""
        read = self.reading.read(key, problem, draws)
        newest = RoundDraws(
            features=np.asarray(parameter_features(problem, self.theta_squash, z)),
            rows=read.rows,
            own=read.own,
            kind=read.kind,
            seen=read.seen,
            ok=np.asarray(draws.ok),
        )
        return dataclasses.replace(self, draws=(newest, *self.draws)[:window])

    @property
    def n_draws(self) -> int:
        """Of all rounds that are kept."""
        return sum(each.ok.size for each in self.draws)

    @property
    def widths(self) -> Widths:
        """How many numbers networks see."""
        newest = self.draws[0]
        return Widths(
            numbers=newest.rows.shape[2],
            parameters=newest.features.shape[1],
            own=newest.own.shape[2],
            kinds=self.reading.n_kinds,
        )

    def simulated_squash(self) -> Squash:
        """The scale of the newest draws, whatever the observations are.

        Statistics must not depend on the observations. Those that see each number at its own
        observed deviation find less noise in the observations than in any simulation, as a sample
        has less about its own mean (20 series of 50 points: 2.5 standard deviations off).
        """
        newest = self.draws[0]
        rows = newest.rows if newest.seen is None else np.where(newest.seen, newest.rows, np.nan)
        return quartile_squash(rows[newest.ok])

    def fitted_squash(self, problem: Problem) -> Squash:
        """The scale of observations, with logarithms where they help, for the newest draws."""
        read, newest = read_observed(self.reading, problem, jax.random.key(0)), self.draws[0]
        observed = np.asarray(problem.observed).reshape(problem.n_obs, -1)[:, self.reading.numbers]
        usable, simulated = newest.ok[..., None], newest.rows
        if read.seen is not None and newest.seen is not None:
            observed = np.where(read.seen, observed, np.nan)
            usable, simulated = usable & newest.seen, np.where(newest.seen, simulated, np.nan)
        logs = better_as_logs(observed, newest.rows, usable) & ~self.reading.counts
        return fit_squash(observed, simulated[newest.ok], logs)

    def training_draws(
        self,
        relevance: Float[np.ndarray, " rounds"],
        squash: Squash,
        standardise: Standardise,
        sizes: Sizes,
    ) -> TrainingDraws:
        """The draws of the newest rounds, in arrays of one size, to avoid recompilation.

        Args:
            relevance: How much each of them counts; half of the training is shared out by
                it, half evenly. Broad rounds are worth their share even where a posterior is
                narrow: they fix the slopes of what is learned (SLCP, N = 100: the error of the
                log-likelihood is 0.9 nats without them, 0.6 with a third of the training). Each
                round's share is then multiplied by that of its parameters within reach.
            squash: Of the observations.
            standardise: Of the parameters.
            sizes: Those of the training.
        """
        n_particles, n_draws = self.draws[0].ok.shape
        draws = [each.repeated(n_draws) for each in self.draws[: len(relevance)]]
        missing = sizes.window - len(draws)
        whole: RoundDraws = jax.tree.map(lambda *leaves: np.concatenate(leaves), *draws)
        whole = jax.tree.map(
            lambda a: np.pad(a, [(0, missing * n_particles)] + [(0, 0)] * (a.ndim - 1)), whole
        )
        u = squash(jnp.asarray(whole.rows))
        condition = standardise(jnp.asarray(whole.features))
        near = np.all(np.abs(np.asarray(condition)) <= sizes.reach, axis=1)
        near[:n_particles] = True
        shares = (1 - _EVEN) * relevance / relevance.sum() + _EVEN / len(relevance)
        shares *= near.reshape(-1, n_particles).mean(axis=1)[: len(shares)]
        return TrainingDraws(
            condition=condition.T,
            u=u if whole.seen is None else jnp.where(whole.seen, u, 0.0),
            own=jnp.asarray(whole.own),
            kind=None if whole.kind is None else jnp.asarray(whole.kind),
            seen=None if whole.seen is None else jnp.asarray(whole.seen),
            ok=jnp.asarray(whole.ok & near[:, None]),
            cumulative=jnp.asarray(np.cumsum(np.pad(shares, (0, missing))), float),
            part=jnp.asarray(0),
            parts=sizes.parts,
            n_particles=n_particles,
            batch_size=sizes.batch_size,
            n_kinds=self.reading.n_kinds,
        )


def empty_memory(
    problem: Problem, z: Float[Array, "K dim"], draws: Draws, *, by_kind: bool
) -> Memory:
    """The scale of the parameters, and how observations are read, from the first round's draws."""
    return Memory(
        theta_squash=quartile_squash(np.asarray(flat_thetas(problem, z))),
        reading=fit_reading(problem, draws, by_kind=by_kind),
        draws=(),
    )


def relevances(last: Float[np.ndarray, " _"] | None, rounds: int) -> Float[np.ndarray, " rounds"]:
    """How much each round's draws count, the newest first; those of an approach count as one.

    ``last`` is how much they counted in the last round; None if nothing was learned yet.
    """
    older = rounds - 1
    if last is None:
        return np.append(1.0, np.full(older, 1 / max(older, 1)))
    return np.append(1.0, last[:older])
