"""The KL of Lemma 1, learned: what the discrepancies that learn from round to round share.

With ``D = KL(p* || p(. | theta))`` and ``2 beta = 1 / N`` the pseudo-likelihood is the likelihood:
``N D = const - sum_i log p(x_i | theta)``. A network learns ``log p(x | theta)``, up to a constant
of x, from single simulated draws, and is then evaluated at any parameter without simulating it.
"""

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from pliant._checks import check_instance, check_integer, check_real
from pliant.densities.base import AbstractDensity
from pliant.densities.training import Training
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    BudgetedSizes,
    Evaluation,
    Proposal,
    RoundOptions,
    distance_columns,
)
from pliant.discrepancies.draws import RoundDraws, TrainingDraws, dequantise
from pliant.discrepancies.ensemble import (
    AbstractNetwork,
    Ensemble,
    in_threads,
    untrained_ensemble,
)
from pliant.problem.problem import Problem
from pliant.problem.scale import Standardise, fit_standardise, parameter_features
from pliant.problem.sets import simulate_sets

_PARTICLES, _DRAWS = 2000, 20  # in a round, and for each of its particles
_BUDGET_ROUNDS = 10  # after which a learned likelihood has mostly converged
_BUDGET_DRAWS = 5  # of each particle: for learning, other parameters tell more than other draws
_BROAD = 0.2  # of the log-likelihood: such a posterior is more than twice as wide as the last
_LEAST_SHARE = 0.01  # a network that counts less is not evaluated


class AbstractLearnedDiscrepancy(AbstractDiscrepancy):
    """A distance that is learned from the simulations of the rounds so far.

    A few networks, which begin with different weights and see different batches, learn from the
    same draws, in parallel where there are cores for it, and are averaged. Much of an error
    stems from where a network began and how it was trained: on SLCP, the average of three had a
    tenth to three fifths less error between modes than one. (Networks of successive rounds, each
    of which continues the last, share errors: averaging them gained next to nothing.)

    Older rounds get a larger share of the training while the networks that were trained on them
    predict the newest round's draws well: one that is a nat worse over all observations than after
    its training on the newest round counts a third.

    A network that is less well trained in one place than in another gives the observations less
    likelihood there, and a mode with few draws would lose more and more of them. That is
    why some draws of each round are made with parameters of an earlier, broader posterior.
    """

    is_noisy: ClassVar[bool] = False

    training: eqx.AbstractVar[Training]
    """Steps, rate and early stopping of each round."""
    batch_size: eqx.AbstractVar[int]
    """Draws in a gradient step."""
    window: eqx.AbstractVar[int]
    """Rounds whose draws are kept to train on."""
    networks: eqx.AbstractVar[int]
    """How many networks are averaged."""
    n_evaluated: eqx.AbstractVar[int]
    """Particles that are weighted in a round, without simulating them."""
    defensive_share: eqx.AbstractVar[float | None]
    """The share of a round's simulations with parameters of an earlier, broader posterior."""

    def __check_init__(self):
        check_instance("training", self.training, Training, "pliant.Training()")
        for name in ("batch_size", "window", "networks"):
            check_integer(name, getattr(self, name), at_least=1)
        check_integer("n_evaluated", self.n_evaluated, at_least=100)
        if self.defensive_share is not None:
            check_real("defensive_share", self.defensive_share, above=0, below=1)

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if the observations do not suit the discrepancy."""

    @abc.abstractmethod
    def untrained(
        self, key: Key[Array, ""], problem: Problem, condition_dim: int
    ) -> AbstractNetwork:
        """A new network, which sees a parameter as ``condition_dim`` numbers."""

    @abc.abstractmethod
    def trained(
        self, key: Key[Array, ""], network: Any, data: TrainingDraws
    ) -> tuple[Any, dict[str, Array]]:
        """The network after a round's training, with ``fit_steps`` and ``held_out``."""

    @abc.abstractmethod
    def held_out_loss(self, network: Any, data: TrainingDraws) -> Float[Array, ""]:
        """Minus the mean log density of the newest round's held-out draws, or a bound of it."""

    @abc.abstractmethod
    def averaged(
        self,
        log_values: Float[np.ndarray, "networks K N"],
        shares: Float[np.ndarray, " networks"],
    ) -> Float[np.ndarray, "K N"]:
        """The networks' average, of which each has its share."""

    def default_beta(self, n_obs: int) -> float:
        """``1 / (2 N)``, at which the pseudo-likelihood is the likelihood (Lemma 1)."""
        return 0.5 / n_obs

    def default_sizes(self, n_obs: int) -> tuple[int, int]:
        """2000 particles of 20 draws."""
        return _PARTICLES, _DRAWS

    def budgeted_sizes(self, problem: Problem, rounds: int, max_simulations: int) -> BudgetedSizes:
        """Ten rounds of five draws for each particle."""
        return BudgetedSizes(min(rounds, _BUDGET_ROUNDS), _BUDGET_DRAWS, reuse=0)

    def init(
        self, key: Key[Array, ""], problem: Problem, n_draws: int
    ) -> tuple["LearnedState", int]:
        """Nothing is known before the first simulations."""
        self.check(problem)
        return LearnedState(ensemble=None, broader=None), 0

    def evaluate(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: "LearnedState",
        proposal: Proposal,
        z: Float[Array, "K dim"],
        options: RoundOptions,
    ) -> Evaluation:
        """Learn from simulations with ``z``, and evaluate new draws of the proposal without any.

        Once there is a broader posterior, ``defensive_share`` of the parameters to simulate is
        drawn from that. Distances are infinite if no simulation is usable.
        """
        simulate_key, learn_key, sample_key, broader_key = jax.random.split(key, 4)
        ensemble, broader = state.ensemble, state.broader
        if ensemble is not None and proposal.level < _BROAD:
            broader = proposal.density
        if broader is not None and self.defensive_share is not None:
            z = _partly_from(broader_key, broader, self.defensive_share, z)
        x, ok = simulate_sets(simulate_key, problem, z, options.n_draws)
        evaluated = proposal.density.sample(sample_key, self.n_evaluated)
        distance, columns = np.full(len(evaluated), np.inf), {}
        if np.any(ok):
            ensemble, learned = self.learn(learn_key, problem, ensemble, z, x, ok)
            distance, found = self.distances(problem, ensemble, evaluated)
            columns = learned | found
        no_noise = np.zeros(0)
        return Evaluation(
            particles=proposal.particles(problem, evaluated, distance),
            state=LearnedState(ensemble=ensemble, broader=broader),
            simulations=len(z) * options.n_draws,
            row=distance_columns(distance, no_noise, float(np.mean(ok))) | columns,
            influences=np.zeros((0, problem.n_obs)),
        )

    def distances_again(
        self, problem: Problem, state: "LearnedState", z: Float[Array, "K dim"]
    ) -> Float[np.ndarray, " K"] | None:
        """Distances according to the networks of the last round."""
        return None if state.ensemble is None else self.distances(problem, state.ensemble, z)[0]

    def learn(
        self,
        key: Key[Array, ""],
        problem: Problem,
        ensemble: Ensemble | None,
        z: Float[Array, "K dim"],
        x: Float[np.ndarray, "K M *event"],
        ok: Bool[np.ndarray, "K M"],
    ) -> tuple[Ensemble, dict[str, float]]:
        """Learn from a round's simulations.

        Args:
            key: For the networks' weights and batches.
            problem: With the observations.
            ensemble: What the last round returned; None in the first.
            z: Parameters.
            x: Draws of each.
            ok: Which draws are usable.

        Returns:
            The new ensemble, and columns of the round's row.
        """
        start_key, noise_key, train_key = jax.random.split(key, 3)
        rows = x.reshape(*x.shape[:2], -1)
        if ensemble is None:
            ensemble = untrained_ensemble(problem, z, rows[ok])
        u = ensemble.squash(dequantise(noise_key, jnp.asarray(rows), ensemble.counts))
        features = np.asarray(parameter_features(problem, ensemble.theta_squash, z))
        draws = (RoundDraws(features, np.asarray(u), ok), *ensemble.draws)[: self.window]
        standardise = fit_standardise(features)
        data = self._training_draws(draws, standardise, 1 / (1 + ensemble.agreeing_rounds))
        if ensemble.networks:
            networks = ensemble.networks_for(standardise)
            before = np.mean([float(self.held_out_loss(network, data)) for network in networks])
        else:
            keys = jax.random.split(start_key, self.networks)
            networks = [self.untrained(key, problem, features.shape[1]) for key in keys]
            before = np.inf
        keys = jax.random.split(train_key, self.networks)
        found = in_threads(lambda key, network: self.trained(key, network, data), keys, networks)
        losses = np.array([float(info["held_out"]) for _, info in found])
        shares = np.exp(-problem.n_obs * (losses - losses.min()))
        gained = problem.n_obs * max(before - losses.mean(), 0.0)
        ensemble = dataclasses.replace(
            ensemble,
            draws=draws,
            standardise=standardise,
            networks=tuple(network for network, _ in found),
            shares=shares / shares.sum(),
            agreeing_rounds=1 + ensemble.agreeing_rounds * float(np.exp(-gained)),
        )
        return ensemble, {
            "net_steps": max(int(info["fit_steps"]) for _, info in found),
            "net_loss": float(losses.min()),
            "agreeing_rounds": ensemble.agreeing_rounds,
        }

    def distances(
        self, problem: Problem, ensemble: Ensemble, z: Float[Array, "K dim"]
    ) -> tuple[Float[np.ndarray, " K"], dict[str, float]]:
        """``-mean_i log p(x_i | theta)``, up to a constant, without a simulation.

        Returns:
            The networks' mean, and ``disagreement``, their spread in nats over all observations.
        """
        counted = np.flatnonzero(ensemble.shares > _LEAST_SHARE)
        shares = ensemble.shares[counted] / ensemble.shares[counted].sum()
        each = ensemble.log_values(problem, z, counted)
        mean = self.averaged(each, shares).mean(axis=1, dtype=np.float64)
        off = problem.n_obs * (each.mean(axis=2, dtype=np.float64) - mean)
        off = off - off.mean(axis=1, keepdims=True)  # a constant of theta is no disagreement
        return -mean, {"disagreement": float(np.sqrt(shares @ off**2).mean())}

    def _training_draws(
        self, draws: tuple[RoundDraws, ...], standardise: Standardise, newest_share: float
    ) -> TrainingDraws:
        """The newest round first, in arrays of one size, to avoid recompilation."""
        n_particles = len(draws[0].features)
        missing = (self.window - len(draws)) * n_particles
        whole: RoundDraws = jax.tree.map(lambda *leaves: np.concatenate(leaves), *draws)
        whole = jax.tree.map(lambda a: np.pad(a, [(0, missing)] + [(0, 0)] * (a.ndim - 1)), whole)
        return TrainingDraws(
            condition=standardise(jnp.asarray(whole.features)).T,
            u=jnp.asarray(whole.u),
            ok=jnp.asarray(whole.ok),
            rounds=jnp.asarray(len(draws)),
            newest_share=jnp.asarray(newest_share),
            n_particles=n_particles,
            batch_size=self.batch_size,
        )


class LearnedState(eqx.Module):
    """What is known after a round."""

    ensemble: Ensemble | None
    """None before the first round."""
    broader: AbstractDensity | None
    """The last posterior that contained little of the likelihood."""


def _partly_from(
    key: Key[Array, ""], broader: AbstractDensity, share: float, z: Float[Array, "K dim"]
) -> Float[Array, "K dim"]:
    """Parameters of which a share, evenly spread among them, is drawn from another density."""
    replaced = (np.arange(len(z)) * share) % 1 >= 1 - share
    return jnp.where(replaced[:, None], broader.sample(key, len(z)), z)
