"""Two moons: a point in the square from points on half a ring; two equal modes."""

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
_OFFSET = 0.25
_RADIUS, _WIDTH = 0.1, 0.01  # mean and standard deviation of the ring's radius
_FARTHEST = _RADIUS + 8 * _WIDTH  # of an observation from the ring's centre
_NEAREST = 1e-3  # to it in 1 / r: cuts off a pole of 1e-19 of the highest density
_TRUTH = (-0.8176656, -0.5756806)
_CHUNK = 1_000_000  # pairs of a parameter and an observation at once


class TwoMoonsTask(AbstractTask):
    """A point on half a ring, moved by the parameters (Greenberg et al., 2019).

    ``x = (r cos a + 1/4 - |s|, r sin a + d)`` with ``s = (t1 + t2) / sqrt 2``,
    ``d = (t2 - t1) / sqrt 2``, ``a ~ U(-pi/2, pi/2)``, ``r ~ N(0.1, 0.01^2)`` and
    ``theta ~ U(-1, 1)^2``, as in the benchmark of Lueckmann et al. (2021). The data do not depend
    on the sign of s, so the posterior has two equal modes. Given one observation they are
    half-moons.
    """

    name: ClassVar[str] = "two_moons"
    summary: ClassVar[str] = "a point in the plane from points on half a ring; two equal modes"
    scale: ClassVar[str | None] = "auto"

    @property
    def truth(self) -> dict[str, Array]:
        """The benchmark's first one."""
        return {"theta": jnp.array(_TRUTH)}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Uniform on ``(-1, 1)^2``."""
        return {"theta": dist.Uniform(-jnp.ones(_DIM), jnp.ones(_DIM)).to_event(1)}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "2"]:
        """One point of the half ring."""
        angle_key, radius_key = jax.random.split(key)
        angle = jax.random.uniform(angle_key, minval=-np.pi / 2, maxval=np.pi / 2)
        r = _RADIUS + _WIDTH * jax.random.normal(radius_key)
        t1, t2 = theta["theta"] / 2**0.5
        x = r * jnp.cos(angle) + _OFFSET - jnp.abs(t1 + t2)
        return jnp.stack([x, r * jnp.sin(angle) + t2 - t1])

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Independent draws from an adaptive grid; see ``AbstractTask.posterior_samples``.

        An observation tells ``(q, d) = (|s|, d)`` up to the half ring: relative to its centre
        it is at ``(u, v) = (x1 - 1/4 + q, x2 - d)``. The half rings of all observations have
        ``u > 0``, so they cut the posterior at one value of q and leave it smooth above. The
        prior is uniform where ``q + |d| < sqrt 2``. Both signs of s are equally probable.
        """
        x = read_observed(observed, (_DIM,))
        n = check_integer("n", n, at_least=1)
        places = np.stack([_OFFSET - x[:, 0], x[:, 1]], axis=1)  # (q, d) with u = v = 0
        lower = np.maximum(places.max(axis=0) - [0.0, _FARTHEST], [0.0, -(2**0.5)])
        upper = np.minimum(places.min(axis=0) + _FARTHEST, 2**0.5)
        if np.any(lower >= upper):
            raise ValueError("observed: no parameters of the prior's support are near all points.")
        rng = np.random.default_rng(seed)
        log_density = partial(log_likelihood, x=x)
        q, d = sample_grid(log_density, lower, upper, n=n, rng=rng, inside=_inside_prior).T
        s = q * rng.choice([-1.0, 1.0], n)
        return {"theta": np.stack([s - d, s + d], axis=1) / 2**0.5}


def _inside_prior(place: Float[np.ndarray, "m 2"]) -> np.ndarray:
    """Whether ``(q, d)`` is of parameters in the square."""
    return place[:, 0] + np.abs(place[:, 1]) < 2**0.5


def log_likelihood(
    place: Float[np.ndarray, "m 2"], x: Float[np.ndarray, "N 2"]
) -> Float[np.ndarray, " m"]:
    """The log-density of all observations at ``(q, d)``, where they are on the half ring's side.

    In polar coordinates around the ring's centre the density of ``(r, a)`` is
    ``N(r | 0.1, 0.01^2) / pi``, and the Jacobian is ``1 / r``. A negative radius, which would put
    the observation on the other side, has a probability of 1e-23 and is left out.
    """
    parts = np.array_split(place, 1 + len(place) * len(x) // _CHUNK)
    return np.concatenate([_log_likelihood_chunk(part, x) for part in parts])


def _log_likelihood_chunk(place: np.ndarray, x: np.ndarray) -> np.ndarray:
    q, d = place[:, :1], place[:, 1:]
    r = np.hypot(x[:, 0] - _OFFSET + q, x[:, 1] - d)
    square = ((r - _RADIUS) / _WIDTH) ** 2
    constant = np.log(np.pi * _WIDTH * (2 * np.pi) ** 0.5)
    return -np.sum(square / 2 + np.log(np.maximum(r, _NEAREST)) + constant, axis=1)
