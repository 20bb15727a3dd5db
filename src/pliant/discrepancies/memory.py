"""The simulations of the rounds so far, which the networks of a learned discrepancy learn from."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from pliant.discrepancies.draws import RoundDraws, TrainingDraws, are_counts, dequantise
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

_EVEN = 0.5  # of the training, shared by all rounds alike


class Sizes(NamedTuple):
    """The sizes of a training."""

    window: int
    """Rounds whose draws are kept."""
    parts: int
    """Parts of the parameters, of which each network leaves one out."""
    batch_size: int


class Memory(eqx.Module):
    """The simulations of the rounds so far."""

    theta_squash: Squash
    counts: Bool[np.ndarray, " d"]
    """Which features are whole numbers."""
    draws: tuple[RoundDraws, ...]
    """The newest round first."""

    def with_round(
        self,
        key: Key[Array, ""],
        problem: Problem,
        z: Float[Array, "K dim"],
        x: Float[np.ndarray, "K M *event"],
        ok: Bool[np.ndarray, "K M"],
        window: int,
    ) -> "Memory":
        """With the draws of another round, and without the oldest of more than ``window``."""
        rows = x.reshape(*x.shape[:2], -1)
        draws = RoundDraws(
            features=np.asarray(parameter_features(problem, self.theta_squash, z)),
            rows=np.asarray(dequantise(key, jnp.asarray(rows), self.counts)),
            ok=ok,
        )
        return dataclasses.replace(self, draws=(draws, *self.draws)[:window])

    def fitted_squash(self, problem: Problem) -> Squash:
        """The scale of observations, with logarithms where they help, for the newest draws."""
        observed = np.asarray(problem.observed).reshape(problem.n_obs, -1)
        newest = self.draws[0]
        logs = better_as_logs(observed, newest.rows, newest.ok) & ~self.counts
        return fit_squash(observed, newest.rows[newest.ok], logs)

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
                log-likelihood is 0.9 nats without them, 0.6 with a third of the training).
            squash: Of the observations.
            standardise: Of the parameters.
            sizes: Those of the training.
        """
        draws = self.draws[: len(relevance)]
        n_particles, missing = len(draws[0].features), sizes.window - len(draws)
        whole: RoundDraws = jax.tree.map(lambda *leaves: np.concatenate(leaves), *draws)
        whole = jax.tree.map(
            lambda a: np.pad(a, [(0, missing * n_particles)] + [(0, 0)] * (a.ndim - 1)), whole
        )
        shares = (1 - _EVEN) * relevance / relevance.sum() + _EVEN / len(relevance)
        return TrainingDraws(
            condition=standardise(jnp.asarray(whole.features)).T,
            u=squash(jnp.asarray(whole.rows)),
            ok=jnp.asarray(whole.ok),
            cumulative=jnp.asarray(np.cumsum(np.pad(shares, (0, missing))), float),
            part=jnp.asarray(0),
            parts=sizes.parts,
            n_particles=n_particles,
            batch_size=sizes.batch_size,
        )


def empty_memory(
    problem: Problem, z: Float[Array, "K dim"], x: Float[np.ndarray, "S *event"]
) -> Memory:
    """The scale of the parameters, and which features are counts, from the first round's draws."""
    observed = np.asarray(problem.observed).reshape(problem.n_obs, -1)
    return Memory(
        theta_squash=quartile_squash(np.asarray(flat_thetas(problem, z))),
        counts=are_counts(observed) & are_counts(x.reshape(len(x), -1)),
        draws=(),
    )
