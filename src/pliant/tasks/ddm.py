"""Drift diffusion: a decision and how long it took, for stimuli of several strengths."""

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.special
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.annealing import sample_annealed
from pliant.tasks.base import AbstractTask, Samples, read_conditions, read_observed

_TRUTH = {"v0": 0.3, "v1": 1.5, "boundary": 1.4, "delay": 0.3}
_NORMAL = {"v0": (0.0, 1.0), "v1": (0.0, 2.0)}
_LOG_NORMAL = {"boundary": (math.log(1.5), 0.4), "delay": (math.log(0.25), 0.5)}
_STIMULI = (-1.0, -0.5, 0.0, 0.5, 1.0)
_TERMS = 6  # of each series; the last is below 1e-15 where the series is used
_SWITCH = 0.5  # scaled times above which the series of eigenfunctions is used
_STEPS = 40  # of bisection: single precision has 24 bits
_RANGE = (math.log(1e-3), math.log(1e2))  # of scaled times
_CHUNK = 2**21  # numbers of an array in NumPy
_CONDITIONS = 0xC0  # separates these random numbers from those of the observations


class DriftDiffusionTask(AbstractTask):
    """Evidence drifts with noise from the middle of an interval until it leaves it.

    ``dx = (v0 + v1 * stimulus) dt + dW`` starts at zero and ends at plus (choice 1) or minus half
    the boundary separation (choice 0). The reaction time is that of the end plus ``delay``. A
    stimulus has one of five strengths.

    From the middle, choice and time are independent. The density of the time is the series of
    Navarro and Fuss (2009). Simulations invert its integral, and so are exact up to single
    precision.
    """

    name: ClassVar[str] = "ddm"
    summary: ClassVar[str] = "drift, boundary and delay from choices and reaction times"
    scale: ClassVar[str | None] = "auto"

    @property
    def truth(self) -> dict[str, Array]:
        """Choices that follow the stimulus."""
        return {name: jnp.array(value) for name, value in _TRUTH.items()}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Normal drifts, log-normal boundary and delay."""
        normal = {name: dist.Normal(*numbers) for name, numbers in _NORMAL.items()}
        return normal | {name: dist.LogNormal(*numbers) for name, numbers in _LOG_NORMAL.items()}

    def conditions(self, n_obs: int = 100, seed: int = 0) -> Float[Array, " N"]:
        """Random stimuli; a larger set starts with the smaller ones."""
        key = jax.random.fold_in(jax.random.key(seed), _CONDITIONS)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(n_obs))
        return jax.vmap(lambda k: jax.random.choice(k, jnp.array(_STIMULI)))(keys)

    def simulator(
        self, key: Key[Array, ""], theta: dict[str, Array], condition: Any = None
    ) -> dict[str, Array]:
        """A choice, 0 or 1, and a reaction time in seconds."""
        choice_key, time_key = jax.random.split(key)
        drift, half = theta["v0"] + theta["v1"] * condition, theta["boundary"] / 2
        upper = jax.random.uniform(choice_key) < jax.nn.sigmoid(2 * drift * half)
        scaled = _scaled_time(jax.random.uniform(time_key), jnp.abs(drift) * half)
        return {"choice": upper.astype(int), "rt": theta["delay"] + half**2 * scaled}

    def posterior_samples(
        self, observed: Any, *, conditions: Any = None, seed: int = 0, n: int = 10_000
    ) -> Samples:
        """Independent draws by annealing and rejection; see ``AbstractTask.posterior_samples``.

        The likelihood is computed in double precision.
        """
        if not isinstance(observed, Mapping) or set(observed) != {"choice", "rt"}:
            raise ValueError(
                "observed: expected a dict with 'choice' and 'rt', each of shape (N,)."
            )
        choice, rt = (read_observed(observed[name], ()) for name in ("choice", "rt"))
        stimulus = read_conditions(conditions, len(rt))
        n = check_integer("n", n, at_least=1)

        def log_likelihood(z: np.ndarray) -> np.ndarray:
            theta = _parameters(z)
            parts = np.array_split(theta, 1 + len(z) * len(rt) // _CHUNK, axis=1)
            each = [log_density(part[:, :, None], choice, rt, stimulus) for part in parts]
            return np.maximum(np.concatenate([part.sum(axis=1) for part in each]), -1e12)

        rng = np.random.default_rng(seed)
        theta = _parameters(sample_annealed(log_likelihood, len(_TRUTH), n=n, rng=rng))
        return dict(zip(_TRUTH, theta, strict=True))


def log_density(
    theta: Float[np.ndarray, "4 *parameters"], choice: Any, rt: Any, stimulus: Any
) -> Float[np.ndarray, "*batch"]:
    """Log density of a choice and a reaction time, in double precision.

    Choices, times and stimuli broadcast with the parameters.
    """
    v0, v1, boundary, delay = theta
    drift, half = v0 + v1 * stimulus, boundary / 2
    log_choice = -np.logaddexp(0, np.where(choice > 0.5, -2, 2) * drift * half)
    scaled = (rt - delay) / half**2
    possible = scaled > 0
    scaled = np.where(possible, scaled, 1.0)
    mu = np.abs(drift) * half
    log_cosh = mu + np.log1p(np.exp(-2 * mu)) - math.log(2)
    log_time = log_cosh - mu**2 * scaled / 2 + _log_driftless(scaled) - 2 * np.log(half)
    return np.where(possible, log_choice + log_time, -np.inf)


def _log_driftless(s: Float[np.ndarray, "*batch"]) -> Float[np.ndarray, "*batch"]:
    """Log density of the time at which a Brownian motion leaves [-1, 1].

    For long times the sum over eigenfunctions, for short ones that over images of the start.
    """
    odd, sign = _odd_numbers(np, s.ndim)
    early, late = np.minimum(s, _SWITCH), np.maximum(s, _SWITCH)
    rate = odd**2 * np.pi**2 / 8
    eigen = np.sum(sign * odd * np.exp(-(rate - rate[0]) * late), axis=0)
    large = math.log(math.pi / 2) - rate[0] * late + np.log(eigen)
    images = np.sum(sign * odd * np.exp(-(odd**2 - 1) / (2 * early)), axis=0)
    small = 0.5 * math.log(2 / math.pi) - 1.5 * np.log(early) - 1 / (2 * early) + np.log(images)
    return np.where(s > _SWITCH, large, small)


def _scaled_time(u: Float[Array, ""], mu: Float[Array, ""]) -> Float[Array, ""]:
    """The time at which a motion with the drift ``mu`` leaves [-1, 1], at its quantile ``u``."""

    def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        below = scaled_cdf(jnp.exp(middle), mu) < u
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    ends = jnp.full_like(mu, _RANGE[0]), jnp.full_like(mu, _RANGE[1])
    low, high = jax.lax.fori_loop(0, _STEPS, halved, ends)
    return jnp.exp((low + high) / 2)


def scaled_cdf(s: Any, mu: Any, *, xp: ModuleType = jnp) -> Any:
    """The probability that a motion with the drift ``mu >= 0`` has left [-1, 1] at the time s.

    The integrals of both series: of an inverse Gaussian for each image of the start, and of an
    exponential for each eigenfunction.
    """
    odd, sign = _odd_numbers(xp, np.ndim(s))
    early, late = xp.minimum(s, _SWITCH), xp.maximum(s, _SWITCH)
    log_normal = scipy.special.log_ndtr if xp is np else jax.scipy.special.log_ndtr
    root = xp.sqrt(early)
    ahead = xp.exp(log_normal((mu * early - odd) / root) - mu * (odd - 1))
    behind = xp.exp(log_normal(-(mu * early + odd) / root) + mu * (odd + 1))
    images = (1 + xp.exp(-2 * mu)) * xp.sum(sign * (ahead + behind), axis=0)
    rate = odd**2 * np.pi**2 / 8 + mu**2 / 2
    decay = sign * odd / rate * xp.exp(-rate * late + mu)
    left = (1 + xp.exp(-2 * mu)) * (np.pi / 4) * xp.sum(decay, axis=0)
    return xp.where(s > _SWITCH, 1 - left, images)


def _odd_numbers(xp: ModuleType, ndim: int) -> tuple[Any, Any]:
    """1, 3, 5, ... and their alternating signs, along a new first axis."""
    k = np.arange(_TERMS).reshape(-1, *(1,) * ndim)
    return xp.asarray(2.0 * k + 1), xp.asarray((-1.0) ** k)


def _parameters(z: Float[np.ndarray, "m 4"]) -> Float[np.ndarray, "4 m"]:
    """Parameters from standard normal ones."""
    numbers = np.array([*_NORMAL.values(), *_LOG_NORMAL.values()])
    theta = numbers[:, :1] + numbers[:, 1:] * z.T
    return np.concatenate([theta[:2], np.exp(theta[2:])])
