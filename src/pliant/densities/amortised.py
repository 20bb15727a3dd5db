"""A posterior for any observed set: a conditional flow behind an embedding network."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.base import AbstractDensity
from pliant.densities.conditional_flow import ConditionalFlow


class AmortisedDensity(AbstractDensity):
    """q(z | observed), together with the observations it is conditioned on."""

    flow: ConditionalFlow
    network: Any
    squash: Callable[[Array], Array]
    """Standardises observations for the network."""
    observed: Float[Array, "N *event"]
    extras: Float[Array, "N e"] | None = None
    """What belongs to each observation beside its own numbers: its condition and its gaps."""

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.flow.dim

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        condition = self.network(self.features(self.observed))
        return self.flow.sample(key, _repeated(condition, n)).T

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        condition = self.network(self.features(self.observed))
        return self.flow.log_prob(z.T, _repeated(condition, len(z)))

    def features(self, x: Float[Array, "N *event"]) -> Float[Array, "N d"]:
        """The standardised input of the embedding network."""
        rows = x.reshape(len(x), -1)
        return self.squash(rows if self.extras is None else jnp.append(rows, self.extras, axis=1))


def _repeated(condition: Float[Array, " c"], n: int) -> Float[Array, "c n"]:
    return jnp.broadcast_to(condition[:, None], (len(condition), n))
