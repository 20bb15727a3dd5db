"""The networks of a learned discrepancy: trained in parallel, evaluated and averaged."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from pliant._deadline import check_time
from pliant._devices import in_threads
from pliant.discrepancies.draws import Examples, one_hot
from pliant.discrepancies.reading import Read, Reading
from pliant.discrepancies.statistics import Summaries
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash, Standardise, parameter_features
from pliant.problem.sets import Draws

_PAIRS = 2**15  # pairs of parameter and observation that are evaluated at a time
_BLOCK = 500  # parameters between two looks at the clock; it divides the usual numbers of them
_LEAST_SHARE = 0.01  # a network that counts less is not evaluated
_GROWN = 1.5  # times as many draws
_COPIES = 4  # points at which the density of a count is averaged


class AbstractNetwork(eqx.Module):
    """A function of an observation and a parameter, both standardised."""

    @abc.abstractmethod
    def log_values(self, x: Examples, theta: Float[Array, "c #B"]) -> Float[Array, " B"]:
        """``log p(x | theta)`` of ``B`` observations, up to a constant of each.

        Each has its own parameter, or all have one.
        """

    @abc.abstractmethod
    def with_parameters(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "AbstractNetwork":
        """The network whose values at theta are this one's at ``factor * theta + shift``."""


class Ensemble(eqx.Module):
    """The networks of a learned discrepancy."""

    theta_squash: Squash
    reading: Reading
    squash: Squash
    """Of observations."""
    summary: Summaries | None
    """What networks see in place of long observations; None if they see the numbers."""
    standardise: Standardise
    """Of the parameters, for the networks."""
    networks: tuple[AbstractNetwork, ...]
    shares: Float[np.ndarray, " networks"]
    """How much each network counts in the average: by its likelihood of N held-out draws."""
    relevance: Float[np.ndarray, " rounds"]
    """Of each round's draws for the training, the newest first: one, or less if the networks
    that were trained on them predicted the draws of later rounds worse."""
    n_draws: int
    """How many draws there were when the networks were new."""

    def is_outgrown(self, n_draws: int) -> bool:
        """Whether there are so many draws now that networks should begin anew.

        They do not forget what few draws told them. Statistics of long observations are kept.
        """
        return self.summary is None and n_draws >= _GROWN * self.n_draws

    def networks_for(self, standardise: Standardise) -> list[AbstractNetwork]:
        """The same functions of the parameters, for parameters in another standardisation."""
        factor = standardise.spread / self.standardise.spread
        shift = self.standardise(standardise.centre)
        return [network.with_parameters(factor, shift) for network in self.networks]

    def counted(self) -> tuple[Int[np.ndarray, " S"], Float[np.ndarray, " S"]]:
        """The networks that are evaluated, and their shares, which sum to one."""
        some = np.flatnonzero(self.shares > _LEAST_SHARE)
        return some, self.shares[some] / self.shares[some].sum()

    def log_values(
        self, problem: Problem, draws: Draws, z: Float[Array, "K dim"], some: Int[np.ndarray, " S"]
    ) -> Float[np.ndarray, "S K n"]:
        """``log p(x_i | theta)`` of n draws, up to a constant of each, by some of the networks."""
        copies = _COPIES if np.any(self.reading.counts) else 1
        x = self.examples(problem, draws, copies)
        features = np.asarray(parameter_features(problem, self.theta_squash, z))
        networks = [self.networks[index] for index in some]

        def evaluated(network: AbstractNetwork) -> Float[np.ndarray, "K n"]:
            return _log_values(network, self.standardise, x, copies, features)

        return np.stack(in_threads(evaluated, networks))

    def examples(self, problem: Problem, draws: Draws, copies: int) -> Examples:
        """Draws ``(n, *event)``, one copy after the other: counts differ between the copies."""
        keys = jax.random.split(jax.random.key(0), copies)
        parts = [self.reading.read(key, problem, draws) for key in keys]
        read: Read = jax.tree.map(lambda *leaves: jnp.asarray(np.concatenate(leaves)), *parts)
        u = self.squash(jnp.asarray(read.rows))
        u = u if read.seen is None else jnp.where(read.seen, u, 0.0)
        seen = None if read.seen is None else jnp.asarray(read.seen).T
        own, kind = jnp.asarray(read.own), None
        if self.summary is not None:
            u, seen = self.summary.of_observed(u, own), None
        if read.kind is not None:
            kind = one_hot(jnp.asarray(read.kind), self.reading.n_kinds)
        return Examples(u=u.T, own=own.T, kind=kind, seen=seen)


def _log_values(
    network: AbstractNetwork,
    standardise: Standardise,
    x: Examples,
    copies: int,
    features: Float[np.ndarray, "K c"],
) -> Float[np.ndarray, "K N"]:
    """Of all observations, for all parameters: blocks of one size, whatever K is."""
    blocks = []
    for start in range(0, len(features), _BLOCK):
        check_time()
        rows = np.minimum(np.arange(start, start + _BLOCK), len(features) - 1)  # padded
        some = jnp.asarray(features[rows])
        blocks.append(np.asarray(_log_values_of_block(network, standardise, x, copies, some)))
    return np.concatenate(blocks)[: len(features)]


@eqx.filter_jit
def _log_values_of_block(
    network: AbstractNetwork,
    standardise: Standardise,
    x: Examples,
    copies: int,
    features: Float[Array, "K c"],
) -> Float[Array, "K N"]:
    """Of all observations, for the parameters of a block, some at a time.

    Copies of an observation of counts are points of its unit cell: the mean of their
    densities estimates its probability.
    """
    n_points = x.u.shape[1]

    def one(features: Array) -> Array:
        values = network.log_values(x, standardise(features)[:, None]).reshape(copies, -1)
        return jax.nn.logsumexp(values, axis=0) - jnp.log(copies)

    return jax.lax.map(one, features, batch_size=max(1, _PAIRS // n_points))
