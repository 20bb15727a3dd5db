"""Gaussian mixture: the common mean of a wide and a narrow Gaussian in the plane."""

from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.base import AbstractTask, Samples, read_observed
from pliant.tasks.grid import sample_grid

_DIM = 2
_BOUND = 10.0
_NARROW = 0.1  # standard deviation; the wide one is 1
_TRUTH = (-9.527071, -1.4817104)
_CHUNK = 1_000_000  # pairs of a parameter and an observation at once


class GaussianMixtureTask(AbstractTask):
    """``x | theta ~ N(theta, I) / 2 + N(theta, 0.01 I) / 2`` in the plane (Sisson et al., 2007).

    The prior is uniform on ``(-10, 10)^2``, and the truth is close to its edge. For few
    observations the posterior has a narrow mode at each of them and a wide one in between.
    """

    name: ClassVar[str] = "gaussian_mixture"
    summary: ClassVar[str] = "the common mean of a wide and a narrow Gaussian in the plane"

    @property
    def truth(self) -> dict[str, Array]:
        """A draw from the prior by the paper's authors."""
        return {"theta": jnp.array(_TRUTH)}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Uniform on ``(-10, 10)^2``."""
        return {"theta": dist.Uniform(-jnp.full(_DIM, _BOUND), jnp.full(_DIM, _BOUND)).to_event(1)}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "2"]:
        """One point, with standard deviation 1 or 0.1 with equal probability."""
        noise_key, coin_key = jax.random.split(key)
        scale = jnp.where(jax.random.bernoulli(coin_key), 1.0, _NARROW)
        return theta["theta"] + scale * jax.random.normal(noise_key, (_DIM,))

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Independent draws from an adaptive grid; see ``AbstractTask.posterior_samples``."""
        x = read_observed(observed, (_DIM,))
        n = check_integer("n", n, at_least=1)
        # The posterior is widest if all N observations are from the wide Gaussian: its standard
        # deviation is then 1 / sqrt(N). The grid's points, 1/64 of a side apart, resolve the
        # narrow modes, whose deviation is at least 0.1 / sqrt(N).
        middle, reach = np.median(x, axis=0), 8 / len(x) ** 0.5
        lower, upper = (np.clip(middle + side, -_BOUND, _BOUND) for side in (-reach, reach))
        if np.any(lower >= upper):
            raise ValueError(f"observed: the median {middle} is too far from the prior's support.")
        rng = np.random.default_rng(seed)
        return {"theta": sample_grid(partial(_log_likelihood, x=x), lower, upper, n=n, rng=rng)}


def _log_likelihood(
    theta: Float[np.ndarray, "m 2"], x: Float[np.ndarray, "N 2"]
) -> Float[np.ndarray, " m"]:
    """``sum_i log(exp(-d_i^2 / 2) + exp(-d_i^2 / 2 s^2) / s^2)`` with ``d_i = |x_i - theta|``."""
    parts = np.array_split(theta, 1 + len(theta) * len(x) // _CHUNK)
    return np.concatenate([_log_likelihood_chunk(part, x) for part in parts])


def _log_likelihood_chunk(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    square = (theta[:, :1] - x[:, 0]) ** 2 + (theta[:, 1:] - x[:, 1]) ** 2
    narrow = np.exp((1 - _NARROW**-2) / 2 * square) / _NARROW**2  # relative to the wide one
    return np.sum(np.log1p(narrow) - square / 2, axis=1)
