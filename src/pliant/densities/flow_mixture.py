"""A mixture of flows, one for each mode of a density whose modes are clearly apart."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.base import AbstractModel


class FlowMixture(AbstractModel):
    """``sum_c share_c q_c(z)``.

    One flow has to connect modes that are apart, and its draws lie between them too.
    """

    logits: Float[Array, " C"]
    components: tuple[AbstractModel, ...]

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.components[0].dim

    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        label_key, *keys = jax.random.split(key, len(self.components) + 1)
        labels = jax.random.categorical(label_key, self.logits, shape=(n,))
        each = [component.sample(k, n) for component, k in zip(self.components, keys, strict=True)]
        return jnp.stack(each)[labels, jnp.arange(n)]

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[Array, "m dim"], Float[Array, " m"]]:
        """The same number of draws of each component, weighted by the components' shares."""
        size = len(self.components)
        keys = jax.random.split(key, size)
        each = [
            component.draw(k, -(-n // size))
            for component, k in zip(self.components, keys, strict=True)
        ]
        log_shares = jax.nn.log_softmax(self.logits) + jnp.log(size)
        log_weights = [log_w + share for (_, log_w), share in zip(each, log_shares, strict=True)]
        return jnp.concatenate([z for z, _ in each]), jnp.concatenate(log_weights)

    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        return _mixed(self.logits, [component.log_prob(z) for component in self.components])

    def stretched(self, factor: float) -> "FlowMixture":
        """With every component ``factor`` times as wide."""
        return FlowMixture(self.logits, tuple(c.stretched(factor) for c in self.components))


def widened(density: AbstractModel) -> FlowMixture:
    """``0.8 q + 0.2 q'``, where q' is 1.5 times as wide as q.

    Where q is too narrow, draws of q' get the weight that q has no draws for.
    """
    return FlowMixture(jnp.log(jnp.array([0.8, 0.2])), (density, density.stretched(1.5)))


@eqx.filter_jit
def _mixed(logits: Float[Array, " C"], each: list[Float[Array, " n"]]) -> Float[Array, " n"]:
    """Apart from the components, which are compiled once for any number of them."""
    return jax.nn.logsumexp(jax.nn.log_softmax(logits)[:, None] + jnp.stack(each), axis=0)
