"""What every family does: fit a density q(z) to weighted samples."""

import abc
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from pliant.densities.training import Training


class AbstractDensity(eqx.Module):
    """A normalised density of the unconstrained, standardised vector z."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """The dimension of z."""

    @abc.abstractmethod
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""

    @abc.abstractmethod
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""


def is_finite(density: AbstractDensity) -> bool:
    """Whether every parameter of the density is finite."""
    leaves = jax.tree.leaves(eqx.filter(density, eqx.is_inexact_array))
    return all(np.all(np.isfinite(leaf)) for leaf in leaves)


class AbstractModel(AbstractDensity):
    """A density with parameters that can be fitted, and differentiated through its draws."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[Array, "m dim"], Float[Array, " m"]]:
        """About ``n`` draws that can be differentiated by the density's parameters.

        Returns:
            Draws z and log-weights, such that ``mean(exp(log_weights) f(z))`` estimates
            ``E_q[f(z)]`` and its gradient that of the expectation.
        """

    @abc.abstractmethod
    def stretched(self, factor: float) -> "AbstractModel":
        """The same shape ``factor`` times as wide, each component around its own centre."""


class AbstractFamily(eqx.Module):
    """A set of densities q, and how q is projected onto a target given by weighted samples."""

    @abc.abstractmethod
    def fit(
        self,
        key: Key[Array, ""],
        z: Float[Array, "K dim"],
        log_weights: Float[Array, " K"],
        init: Any,
    ) -> tuple[AbstractDensity, dict[str, Any]]:
        """The m-projection (appendix A.2): weighted maximum likelihood.

        Args:
            key: For random starts and minibatches.
            z: Samples of the proposal.
            log_weights: Their log-weights, up to a constant; ``-inf`` drops a sample.
            init: The previous round's density of this family, as a start; None in round one.

        Returns:
            The density, and numbers for the round's history.
        """


class AbstractModelFamily(AbstractFamily):
    """A family of ``AbstractModel``, onto which the i-projection is possible too."""

    reverse_training: eqx.AbstractVar[Training]
    """How the i-projection is trained."""
