"""Gaussian location: the mean of a 10-dimensional Gaussian, whose posterior is Gaussian."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.base import AbstractTask, Samples, read_observed

_DIM = 10
_VARIANCE = 0.1  # of the prior and of the data
_TRUTH = (
    *(-0.3833964, -0.32583132, -0.11903118, -0.16812938, -0.5765837),
    *(-0.37973747, 0.33850512, 0.04474947, -0.51732945, -0.37251562),
)


class GaussianLocationTask(AbstractTask):
    """``theta ~ N(0, 0.1 I)`` and ``x | theta ~ N(theta, 0.1 I)``, both in 10 dimensions.

    Given N observations the posterior is ``N(sum_i x_i / (N + 1), 0.1 / (N + 1) I)``.
    """

    name: ClassVar[str] = "gaussian_location"
    summary: ClassVar[str] = "the mean of a 10-dimensional Gaussian; conjugate"

    @property
    def truth(self) -> dict[str, Array]:
        """A draw from the uniform distribution on ``[-1, 1]^10`` by the paper's authors."""
        return {"theta": jnp.array(_TRUTH)}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Independent normals with variance 0.1."""
        return {"theta": dist.Normal(jnp.zeros(_DIM), _VARIANCE**0.5).to_event(1)}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "10"]:
        """The mean plus noise of variance 0.1."""
        # 10 of 16 numbers are used: XLA compiles a power of two in half the time
        return theta["theta"] + _VARIANCE**0.5 * jax.random.normal(key, (16,))[:_DIM]

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Draws from the closed form; see ``AbstractTask.posterior_samples``."""
        x = read_observed(observed, (_DIM,))
        n = check_integer("n", n, at_least=1)
        mean, variance = x.sum(axis=0) / (len(x) + 1), _VARIANCE / (len(x) + 1)
        noise = np.random.default_rng(seed).standard_normal((n, _DIM))
        return {"theta": mean + variance**0.5 * noise}
