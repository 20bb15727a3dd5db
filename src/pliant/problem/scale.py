"""Observations as inputs of a network: centred, scaled, and their tails drawn in."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_ENOUGH = 10  # observations whose own spread is trusted
_LINEAR = 10.0  # spreads from the centre up to which nothing is changed


class Squash(eqx.Module):
    """``(x - centre) / spread`` of each feature, which grows as a logarithm beyond ten spreads.

    Where the data were observed a network sees them at their own scale and in their own shape
    (what is Gaussian stays Gaussian), and simulations that are a million spreads away still
    give numbers of a moderate size.
    """

    centre: Float[Array, " d"]
    spread: Float[Array, " d"]

    def __call__(self, x: Float[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch d"]:
        """The features of any batch of flattened observations."""
        batch = range(x.ndim - 1)
        centre, spread = (jnp.expand_dims(a, batch) for a in (self.centre, self.spread))
        ratio = (x - centre) / spread
        size = jnp.abs(ratio)
        beyond = jnp.maximum(size - _LINEAR, 0.0)
        return jnp.sign(ratio) * (jnp.minimum(size, _LINEAR) + jnp.log1p(beyond))


def fit_squash(observed: Float[np.ndarray, "N d"], simulated: Float[np.ndarray, "S d"]) -> Squash:
    """The squash for a run, from what was observed and from simulations with the prior.

    The observations' mean and standard deviation; the interquartile range of the simulations
    (as a standard deviation) where fewer than ten were observed or a feature did not vary;
    one where neither varies.
    """
    observed = np.asarray(observed, np.float64)
    own = observed.std(axis=0) if len(observed) >= _ENOUGH else np.zeros(observed.shape[1])
    spread = np.where(own > 0, own, middle_squash(simulated).spread)
    return Squash(jnp.asarray(observed.mean(axis=0), float), jnp.asarray(spread, float))


def middle_squash(rows: Float[np.ndarray, "S d"]) -> Squash:
    """By the median and the interquartile range (as a standard deviation), or one where it is 0."""
    low, middle, high = np.quantile(np.asarray(rows, np.float64), [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    return Squash(jnp.asarray(middle, float), jnp.asarray(np.where(spread > 0, spread, 1.0), float))
