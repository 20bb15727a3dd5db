"""A density that is moved and stretched."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.base import AbstractDensity


class AffineDensity(AbstractDensity):
    """The density of ``centre + shift + stretch (z - centre)`` for draws z of ``base``."""

    base: AbstractDensity
    centre: Float[Array, " dim"]
    shift: Float[Array, " dim"]
    stretch: Float[Array, " dim"]
    """Positive factors."""

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.base.dim

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        z = self.base.sample(key, n)
        return (self.centre + self.shift)[None] + self.stretch[None] * (z - self.centre[None])

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        off = (z - (self.centre + self.shift)[None]) / self.stretch[None]
        return self.base.log_prob(self.centre[None] + off) - jnp.sum(jnp.log(self.stretch))
