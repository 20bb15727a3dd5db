"""The KL of Lemma 1, learned: what the discrepancies that learn from round to round share.

With ``D = KL(p* || p(. | theta))`` and ``2 beta = 1 / N`` the pseudo-likelihood is the likelihood:
``N D = const - sum_i log p(x_i | theta)``. A network learns ``log p(x | theta)``, up to a constant
of x, from single simulated draws, and is then evaluated at any parameter without simulating it.
"""

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer, check_real
from pliant._devices import in_threads
from pliant.densities.training import FULL, Effort, Training
from pliant.discrepancies.approach import Approach, begun, kept_draws
from pliant.discrepancies.base import (
    AbstractDiscrepancy,
    BudgetedSizes,
    Evaluation,
    Proposal,
    RoundOptions,
    distance_columns,
    evaluation_of,
    partly_from,
)
from pliant.discrepancies.draws import TrainingDraws, Widths
from pliant.discrepancies.ensemble import AbstractNetwork, Ensemble
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.memory import Memory, Sizes, empty_memory, relevances
from pliant.discrepancies.statistics import Summaries
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash, Standardise, fit_standardise
from pliant.problem.sets import check_sets, observed_draws, simulate_sets

_PARTICLES = 2000  # in a round
_DRAWS, _FEW_DRAWS, _MANY_DRAWS = 20, 50, 200  # of each particle; 50 to 200 where they are cheap
_FEW_NUMBERS, _MANY_NUMBERS = 2**24, 2**22  # of a round with 50 draws, and with more: 64 and 16 MiB
_EVALUATED, _PAIRS = (2000, 5000), 5_000_000  # particles in a round; times observations
_BUDGET_ROUNDS, _BUDGET_DRAWS = 10, 5  # other parameters tell more than other draws of one
_ROUGH = Effort(steps=0.5)  # before the posterior is near its target
_FINE = Effort(steps=0.5, rate=0.3)  # of networks that have seen the target before


class AbstractLearnedDiscrepancy(AbstractDiscrepancy):
    """A distance that is learned from the simulations of the rounds so far.

    The first rounds only approach the posterior, by comparing sets (``Approach``). Then one
    network learns from all draws so far, and takes the posterior to its target in a few steps.
    There, a few networks begin anew. Each leaves another part of the parameters out, and they
    are averaged: how far they are apart tells the error of the log-likelihood (a jackknife).

    Older rounds count while the networks that were trained on them predict the newest round's
    draws well: one that is a nat worse over all observations than after its training on the newest
    round makes them count a third. Parameters beyond ``reach`` are left out: a network that has to
    predict what happens there, too, is less precise here.

    A part of each round's draws is made with parameters of an earlier posterior, about five times
    as wide. How the likelihood changes with a parameter is seen better from farther apart. (Drift
    diffusion, N = 1000, 200,000 draws with parameters one, three, five and eight times as wide as
    the posterior: errors of the log-likelihood of 1.7, 0.9, 0.35 and 0.6 nats.) Besides, a network
    that is less well trained in one place than in another gives the observations less likelihood
    there, and a mode with few draws would lose more and more of them.
    """

    is_noisy: ClassVar[bool] = False
    by_kind: ClassVar[bool]
    """Whether categories are learned apart from numbers."""
    reach: ClassVar[float] = np.inf
    """Deviations of the newest round's parameters, beyond which older ones are left out."""

    training: eqx.AbstractVar[Training]
    """Steps, rate and early stopping of each round."""
    batch_size: eqx.AbstractVar[int]
    """Draws in a gradient step."""
    window: eqx.AbstractVar[int]
    """Rounds whose draws are kept to train on."""
    networks: eqx.AbstractVar[int]
    """How many networks are averaged."""
    n_evaluated: eqx.AbstractVar[int | None]
    """Particles that are weighted in a round; None for 5000, or fewer if N is above 1000."""
    defensive_share: eqx.AbstractVar[float | None]
    """The share of a round's simulations with parameters of an earlier, broader posterior."""
    approach: eqx.AbstractVar[AbstractMeasuredDiscrepancy | None]
    """What the first rounds compare sets by, before anything is learned; None for nothing."""

    def __check_init__(self):
        check_instance("training", self.training, Training, "pliant.Training()")
        for name in ("batch_size", "window", "networks"):
            check_integer(name, getattr(self, name), at_least=1)
        if self.n_evaluated is not None:
            check_integer("n_evaluated", self.n_evaluated, at_least=100)
        if self.defensive_share is not None:
            check_real("defensive_share", self.defensive_share, above=0, below=1)
        if self.approach is not None:
            check_instance("approach", self.approach, AbstractMeasuredDiscrepancy, "pliant.MMD()")

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` if the observations do not suit the discrepancy."""

    @abc.abstractmethod
    def untrained(
        self, key: Key[Array, ""], problem: Problem, widths: Widths, like: Any
    ) -> AbstractNetwork:
        """A new network; ``like`` is a trained one whose kind has proved itself, or None."""

    def summarised(
        self,
        key: Key[Array, ""],
        problem: Problem,
        memory: Memory,
        given: tuple[Float[np.ndarray, " rounds"], Standardise, Sizes],
        last: Ensemble | None,
    ) -> tuple[Summaries | None, Squash, dict[str, float]]:
        """Statistics of long observations, if any are wanted; scales; columns of the row."""
        return None, memory.fitted_squash(problem), {}

    def prepared(self, data: TrainingDraws) -> TrainingDraws:
        """With what all networks' trainings need to know of the draws."""
        return data

    @abc.abstractmethod
    def trained(
        self, key: Key[Array, ""], network: Any, data: TrainingDraws, effort: Effort = FULL
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

    def default_sizes(self, problem: Problem) -> tuple[int, int]:
        """2000 particles of 200 draws; of 50 where observations are long, and of 20 at least.

        The error of the learned log-likelihood grows as the root of N over the number of draws
        (Gaussian mixture, N = 10: 0.31 nats with 50, 0.14 with 200). Outside JAX, it is 20.
        """
        if not problem.simulator.compiled:
            return _PARTICLES, _DRAWS
        numbers = _PARTICLES * max(1, math.prod(problem.event_shape))
        few, many = _FEW_NUMBERS // numbers, _MANY_NUMBERS // numbers
        return _PARTICLES, max(_DRAWS, min(_FEW_DRAWS, few), min(_MANY_DRAWS, many))

    def budgeted_sizes(self, problem: Problem, rounds: int, max_simulations: int) -> BudgetedSizes:
        """Ten rounds of five draws for each particle."""
        return BudgetedSizes(min(rounds, _BUDGET_ROUNDS), _BUDGET_DRAWS, reuse=0)

    def check_memory(
        self, problem: Problem, n_particles: int, n_draws: int, chunk_size: int | None
    ) -> None:
        """Raise a ``ValueError`` if all sets of a round cannot fit into memory."""
        check_sets(problem, n_particles, n_draws)

    def init(
        self, key: Key[Array, ""], problem: Problem, n_draws: int
    ) -> tuple["LearnedState", int]:
        """Nothing is known before the first simulations; prepare what compares their sets."""
        self.check(problem)
        approach, simulations = begun(key, self.approach, problem, n_draws)
        return LearnedState(approach=approach), simulations

    def simulations_before(self, problem: Problem) -> int:
        """Those of the approach."""
        return 0 if self.approach is None else self.approach.simulations_before(problem)

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

        In the first rounds, which only approach the posterior, nothing is learned: sets that
        are simulated with ``z`` are compared with the observed one. From then on,
        ``defensive_share`` of the parameters to simulate is drawn from a broader posterior.
        Distances are infinite if no simulation is usable.
        """
        simulate_key, memory_key, learn_key, sample_key, broader_key = jax.random.split(key, 5)
        broader, learned = proposal.broader, state.ensemble
        if learned is not None and broader is not None and self.defensive_share is not None:
            z = partly_from(broader_key, broader, self.defensive_share, z)
        draws = simulate_sets(simulate_key, problem, z, options.n_draws)
        calls = len(z) * options.n_draws
        if not np.any(draws.ok):
            row = distance_columns(np.full(1, np.inf), np.zeros(0), 0.0)
            return evaluation_of(problem, proposal, z, np.full(len(z), np.inf), state, calls, row)
        memory = state.memory or empty_memory(problem, z, draws, by_kind=self.by_kind)
        kept = draws if state.approach is None else draws.first(kept_draws(options.n_draws))
        memory = memory.with_round(memory_key, problem, z, kept, self.window)
        if state.approach is not None:
            found = state.approach.measure(problem, draws, options)
            after = LearnedState(memory=memory, approach=state.approach.after(proposal, found.row))
            evaluation = evaluation_of(
                problem, proposal, z, found.distance, after, calls, found.row
            )
            return evaluation._replace(beta=state.approach.beta)
        evaluated, log_base = proposal.draws(sample_key, self._n_evaluated(problem))
        level = 0.0 if learned is None else proposal.level  # that of an approach is its own
        ensemble, columns = self.learn(learn_key, problem, memory, learned, level)
        distance, errors = self.distances(problem, ensemble, evaluated)
        row = distance_columns(distance, np.zeros(0), float(np.mean(draws.ok))) | columns
        state = LearnedState(memory=memory, ensemble=ensemble)
        given = problem, proposal, evaluated, distance, state, calls, row
        evaluation = evaluation_of(*given, log_base=log_base, is_noisy=False)
        return evaluation._replace(errors=errors)

    def distances_again(
        self, problem: Problem, state: "LearnedState", z: Float[Array, "K dim"]
    ) -> Float[np.ndarray, " K"] | None:
        """Distances according to the networks of the last round."""
        return None if state.ensemble is None else self.distances(problem, state.ensemble, z)[0]

    def learn(
        self,
        key: Key[Array, ""],
        problem: Problem,
        memory: Memory,
        last: Ensemble | None,
        level: float,
    ) -> tuple[Ensemble, dict[str, float]]:
        """Learn from the simulations so far: the new ensemble, and columns of the round's row.

        One network until the proposal has reached the target; then all of them begin anew, at the
        scale of what the posterior simulates, and again when they are outgrown.

        Args:
            key: For the networks' weights and batches.
            problem: With the observations.
            memory: The simulations of all rounds, this one's first.
            last: What the last round returned; None in the first.
            level: How much of the likelihood the proposal contains.
        """
        start_key, train_key = jax.random.split(key)
        wanted = self.networks if level == 1 else 1
        standardise = fit_standardise(memory.draws[0].features)
        known = last is not None and len(last.networks) == wanted
        anew = last is None or not known or (level == 1 and last.is_outgrown(memory.n_draws))
        effort = (FULL if anew else _FINE) if level == 1 else _ROUGH
        relevance = relevances(None if last is None else last.relevance, len(memory.draws))
        sizes = Sizes(self.window, self.networks, self.batch_size, self.reach)
        if last is not None and known:
            summary = None if last.summary is None else last.summary.after(memory)
            squash, row = last.squash, {}
        else:
            given = problem, memory, (relevance, standardise, sizes), last
            summary, squash, row = self.summarised(jax.random.fold_in(key, 2), *given)
        networks = [] if last is None else last.networks_for(standardise)
        if anew:
            keys = jax.random.split(start_key, wanted)
            networks = self._new_networks(keys, problem, memory, summary, last)
        short = memory if summary is None else summary.shortened(memory)
        scale = squash if summary is None else summary.scale
        whole = self.prepared(short.training_draws(relevance, scale, standardise, sizes))
        keys, data = jax.random.split(train_key, wanted), whole.without_parts(wanted)
        found = in_threads(self.trained, keys, networks, data, [effort] * wanted)
        losses = np.array([float(info["held_out"]) for _, info in found])
        if last is not None and (summary is None or known):
            newest = whole  # begins with the newest draws; the last networks may see another scale
            if not known:
                only = short.training_draws(np.ones(1), last.squash, standardise, sizes)
                newest = self.prepared(only)
            before = [self.held_out_loss(n, newest) for n in last.networks_for(standardise)]
            relevance[1:] *= np.exp(-problem.n_obs * max(np.mean(before) - losses.mean(), 0.0))
        shares = np.exp(-problem.n_obs * (losses - losses.min()))
        ensemble = Ensemble(
            theta_squash=memory.theta_squash,
            reading=memory.reading,
            squash=squash,
            summary=summary,
            standardise=standardise,
            networks=tuple(network for network, _ in found),
            shares=shares / shares.sum(),
            relevance=relevance,
            n_draws=memory.n_draws if last is None or anew else last.n_draws,
        )
        return ensemble, row | {
            "networks": wanted,
            "logarithms": 0 if squash.logs is None else int(np.sum(squash.logs)),
            "net_steps": max(int(info["fit_steps"]) for _, info in found),
            "net_loss": float(losses.min()),
            "agreeing_rounds": float(relevance.sum()),
        }

    def _n_evaluated(self, problem: Problem) -> int:
        return self.n_evaluated or int(np.clip(_PAIRS // problem.n_obs, *_EVALUATED))

    def _new_networks(
        self,
        keys: Key[Array, " networks"],
        problem: Problem,
        memory: Memory,
        summary: Summaries | None,
        last: Ensemble | None,
    ) -> list[AbstractNetwork]:
        widths = (memory if summary is None else summary.shortened(memory)).widths
        like = None if last is None else last.networks[0]
        return [self.untrained(key, problem, widths, like) for key in keys]

    def distances(
        self, problem: Problem, ensemble: Ensemble, z: Float[Array, "K dim"]
    ) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "J K"]]:
        """``-mean_i log p(x_i | theta)``, up to a constant, without a simulation.

        Returns:
            The networks' mean, and how far the log-likelihood of all observations by each network
            is from it, scaled so that the root of their summed squares is a standard error.
        """
        counted, shares = ensemble.counted()
        each = ensemble.log_values(problem, observed_draws(problem), z, counted)
        mean = self.averaged(each, shares).mean(axis=1, dtype=np.float64)
        off = problem.n_obs * (each.mean(axis=2, dtype=np.float64) - mean)
        # Each network leaves another part of the parameters out: a jackknife.
        return -mean, off * np.sqrt((len(shares) - 1) * shares)[:, None]


class LearnedState(eqx.Module):
    """What is known after a round."""

    memory: Memory | None = None
    """None before the first round."""
    ensemble: Ensemble | None = None
    """None until something was learned."""
    approach: Approach | None = None
    """What compares sets until something is learned; None from then on."""
