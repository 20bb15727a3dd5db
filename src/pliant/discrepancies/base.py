"""The one contract of discrepancies: a proposal becomes particles with their distances."""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from pliant.densities.base import AbstractDensity, AbstractModel
from pliant.densities.flow_mixture import widened
from pliant.problem.problem import Problem

Sets = Float[Array, "K M *event"]
"""Simulated sets: M draws for each of K parameters."""
Mask = Bool[Array, "K M"]
"""Which draws of simulated sets are usable."""


class Particles(eqx.Module):
    """What one round knows of its K parameters, in double precision.

    The proposal's log q is computed once, when the parameters are drawn, and travels
    with them; in round one it is the prior's.
    """

    z: Float[np.ndarray, "K dim"]
    log_prior: Float[np.ndarray, " K"]
    log_q: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    """D(observed, simulated); infinite where too few draws are usable."""
    log_partition: Float[np.ndarray, " K"]
    """log Z(theta) of eq. 8; zero where it is taken as constant."""
    log_base: Float[np.ndarray, " K"] | None = None
    """Log-weights that make the particles a sample of the proposal; None if they are one
    already."""
    is_noisy: bool = eqx.field(static=True, default=True)
    """Whether a distance depends on the random draws that were made with its own parameter."""


class Proposal(eqx.Module):
    """What a round draws its parameters from."""

    density: AbstractDensity
    """The last round's posterior; the prior in round one."""
    level: float
    """How much of the pseudo-likelihood the density contains, from 0 (the prior) to 1."""
    broader: AbstractDensity | None = None
    """An earlier posterior, several times as wide as that at the target; None if there was none."""

    def draws(
        self, key: Key[Array, ""], n: int
    ) -> tuple[Float[Array, "n dim"], Float[np.ndarray, " n"] | None]:
        """Draws to be weighted, and the log-weights that make them a sample of the density.

        At the target, a fifth of them is from a wider copy of the density. Draws of its own would
        not tell that it ends too early. (SIR, N = 2: at 0.88 of the exact width, their effective
        sample size was 4592 of 5000.) Before the target, the density is wider than what follows,
        and the log-weights are None.
        """
        if self.level < 1 or not isinstance(self.density, AbstractModel):
            return self.density.sample(key, n), None
        wide = widened(self.density)
        z = wide.sample(key, n)
        return z, np.asarray(self.density.log_prob(z) - wide.log_prob(z), np.float64)

    def particles(
        self,
        problem: Problem,
        z: Float[Array, "K dim"],
        distance: Float[np.ndarray, " K"],
        *,
        log_base: Float[np.ndarray, " K"] | None = None,
        is_noisy: bool = True,
    ) -> Particles:
        """Draws of the proposal with their distances and densities; Z is taken as constant."""
        return Particles(
            z=np.asarray(z, np.float64),
            log_prior=np.asarray(problem.prior.log_prob(z), np.float64),
            log_q=np.asarray(self.density.log_prob(z), np.float64),
            distance=distance,
            log_partition=np.zeros(len(z)),
            log_base=log_base,
            is_noisy=is_noisy,
        )


class AbstractPartition(eqx.Module):
    """Evaluates the partition function Z(theta) of the pseudo-likelihood."""

    @property
    @abc.abstractmethod
    def n_particles(self) -> int | None:
        """At how many parameters, the first of a round, it is evaluated; None for all."""

    @abc.abstractmethod
    def log_values(self, x: Sets, ok: Mask) -> Float[np.ndarray, " K"]:
        """Log Z, up to a constant; ``-inf`` where too few draws are usable.

        Args:
            x: Simulated sets of ``M`` draws.
            ok: Which draws are usable; the others are ignored.
        """


class RoundOptions(NamedTuple):
    """How a method wants a proposal to be evaluated."""

    n_draws: int
    """M, the draws for each parameter."""
    chunk_size: int | None = None
    """Parameters that are simulated at a time; None bounds the memory."""
    influences: bool = False
    """Whether the influences of single observations are wanted."""
    partition: AbstractPartition | None = None
    """What evaluates Z(theta), if it is wanted."""


class Evaluation(NamedTuple):
    """What a discrepancy finds out about a proposal in one round."""

    particles: Particles
    state: Any
    """The discrepancy's state after the round."""
    simulations: int
    """How often the simulator was called."""
    row: dict[str, float | int]
    """Columns of the round's row in the history."""
    influences: Float[np.ndarray, "I N"]
    """``dD / dw_i`` of the first I particles for the weight of each observation, if wanted."""
    log_partition: Float[np.ndarray, " S"] = np.zeros(0)
    """log Z of the first S particles, if wanted; ``-inf`` where too few draws are usable."""
    errors: Float[np.ndarray, "J K"] = np.zeros((0, 0))
    """Errors of the log-likelihoods, in nats, by J independent sources; none if unknown."""
    beta: float | None = None
    """The target bandwidth of these distances, if they are not yet those that are wanted but
    rougher ones, by which the first rounds approach the posterior."""


class BudgetedSizes(NamedTuple):
    """Sizes of a run that keep it within a budget of simulations."""

    rounds: int
    n_draws: int
    reuse: int
    """Earlier rounds whose simulations are used again."""


class AbstractDiscrepancy(eqx.Module):
    """Turns a proposal into particles with distances D(theta), round by round.

    ``init`` prepares it for a problem; ``evaluate`` then simulates, compares or learns as it
    likes. To compare simulated sets with the observed one, extend
    ``AbstractMeasuredDiscrepancy``, which needs less code.
    """

    is_noisy: ClassVar[bool]
    """Whether a distance depends on the random draws that were made with its own parameter."""
    has_influences: ClassVar[bool] = False
    """Whether the influences of single observations are known."""

    @abc.abstractmethod
    def default_beta(self, n_obs: int) -> float:
        """The target bandwidth that suits the discrepancy."""

    @abc.abstractmethod
    def default_sizes(self, problem: Problem) -> tuple[int, int]:
        """The particles K of a round and the draws M for each of them."""

    @abc.abstractmethod
    def budgeted_sizes(self, problem: Problem, rounds: int, max_simulations: int) -> BudgetedSizes:
        """Sizes for a budget that the defaults exceed."""

    def simulations_before(self, problem: Problem) -> int:
        """The simulator calls of ``init``."""
        return 0

    def check_memory(
        self, problem: Problem, n_particles: int, n_draws: int, chunk_size: int | None
    ) -> None:
        """Raise a ``ValueError`` if a round cannot fit into memory. Nothing is simulated."""

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], problem: Problem, n_draws: int) -> tuple[Any, int]:
        """The state before the first round, and the simulator calls that it took.

        Raises:
            ValueError: If the discrepancy does not fit the problem.
        """

    @abc.abstractmethod
    def evaluate(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: Any,
        proposal: Proposal,
        z: Float[Array, "K dim"],
        options: RoundOptions,
    ) -> Evaluation:
        """Simulate with the parameters ``z`` and give particles of the proposal their distances.

        Args:
            key: For simulations and everything else that is random.
            problem: With the simulator and the observations.
            state: What ``init`` or the last ``evaluate`` returned.
            proposal: What ``z`` was drawn from.
            z: Parameters.
            options: The number of draws, and what else is wanted.
        """

    def distances_again(
        self, problem: Problem, state: Any, z: Float[Array, "K dim"]
    ) -> Float[np.ndarray, " K"] | None:
        """Distances at any parameters without a simulation; None if that is impossible."""
        return None


def distance_columns(
    distance: Float[np.ndarray, " K"], noise: Float[np.ndarray, " S"], usable: float
) -> dict[str, float | int]:
    """The columns of a round's row that its distances fill.

    Args:
        distance: Of all particles; infinite where it is unknown.
        noise: Squared standard errors of some distances; empty if they are unknown.
        usable: The share of usable draws.
    """
    known = distance[np.isfinite(distance)]
    if not known.size:
        return {"usable": usable}
    variance = float(np.var(known))
    error = max(float(np.mean(noise)), 0.0) if noise.size else float("nan")
    return {
        "distance_min": float(known.min()),
        "distance_median": float(np.median(known)),
        "distance_se": error**0.5,
        "noise_share": error / variance if variance > 0 else float("inf"),
        "usable": usable,
    }


def partly_from(
    key: Key[Array, ""], broader: AbstractDensity, share: float, z: Float[Array, "K dim"]
) -> Float[Array, "K dim"]:
    """Parameters of which a share, evenly spread among them, is drawn from another density."""
    replaced = (np.arange(len(z)) * share) % 1 >= 1 - share
    return jnp.where(replaced[:, None], broader.sample(key, len(z)), z)


def evaluation_of(
    problem: Problem,
    proposal: Proposal,
    z: Float[Array, "K dim"],
    distance: Float[np.ndarray, " K"],
    state: Any,
    simulations: int,
    row: dict[str, float | int],
    *,
    log_base: Float[np.ndarray, " K"] | None = None,
    is_noisy: bool = True,
) -> Evaluation:
    """What is known of draws of a proposal, without the influences of single observations."""
    return Evaluation(
        particles=proposal.particles(problem, z, distance, log_base=log_base, is_noisy=is_noisy),
        state=state,
        simulations=simulations,
        row=row,
        influences=np.zeros((0, problem.n_obs)),
    )
