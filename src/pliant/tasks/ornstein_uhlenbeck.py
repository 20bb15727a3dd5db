"""Ornstein-Uhlenbeck: how fast, around what and how strongly a series fluctuates."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.annealing import sample_annealed
from pliant.tasks.base import AbstractTask, Samples, read_observed

_TRUTH = {"mean": 1.0, "rate": 0.8, "volatility": 0.5}
_INTERVAL = 0.2  # between two points
_MEAN = (0.0, 2.0)
_LOG_RATE, _LOG_VOLATILITY = (0.0, 0.7), (-0.5, 0.7)
_START = 0.0


class OrnsteinUhlenbeckTask(AbstractTask):
    """``dx = rate (mean - x) dt + volatility dW`` from zero, at equidistant times.

    Simulations use the exact transition: given a point, the next one is Gaussian. So is the
    likelihood, of which four sums of products over all series are sufficient.

    Args:
        points: The points of a series, 0.2 apart in time.
    """

    name: ClassVar[str] = "ornstein_uhlenbeck"
    summary: ClassVar[str] = "mean, rate and volatility from fluctuating series"
    scale: ClassVar[str | None] = "auto"

    points: int = eqx.field(static=True, default=50)

    def __check_init__(self):
        check_integer("points", self.points, at_least=2)

    @property
    def truth(self) -> dict[str, Array]:
        """Series that reach their mean within 50 points."""
        return {name: jnp.array(value) for name, value in _TRUTH.items()}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """A normal mean, log-normal rate and volatility."""
        return {
            "mean": dist.Normal(*_MEAN),
            "rate": dist.LogNormal(*_LOG_RATE),
            "volatility": dist.LogNormal(*_LOG_VOLATILITY),
        }

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, " T"]:
        """A series, without its start."""
        keep, deviation = _transition(theta["rate"], theta["volatility"], jnp)

        def step(x: Array, noise: Array) -> tuple[Array, Array]:
            x = theta["mean"] + keep * (x - theta["mean"]) + deviation * noise
            return x, x

        noise = jax.random.normal(key, (self.points,))
        return jax.lax.scan(step, jnp.asarray(_START, float), noise)[1]

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Independent draws by annealing and rejection; see ``AbstractTask.posterior_samples``."""
        x = read_observed(observed, (self.points,))
        n = check_integer("n", n, at_least=1)
        before = np.concatenate([np.full((len(x), 1), _START), x[:, :-1]], axis=1)
        design = np.stack([x, before, np.ones_like(x)]).reshape(3, -1)
        products = design @ design.T

        def log_likelihood(z: np.ndarray) -> np.ndarray:
            mean, rate, volatility = _parameters(z)
            keep, deviation = _transition(rate, volatility, np)
            weights = np.stack([np.ones_like(mean), -keep, (keep - 1) * mean])
            squares = np.einsum("im,ij,jm->m", weights, products, weights)
            return -squares / (2 * deviation**2) - x.size * np.log(deviation)

        rng = np.random.default_rng(seed)
        theta = _parameters(sample_annealed(log_likelihood, len(_TRUTH), n=n, rng=rng))
        return dict(zip(_TRUTH, theta, strict=True))


def _transition(rate: Any, volatility: Any, xp: Any) -> tuple[Any, Any]:
    """The share of a deviation that is left after an interval, and the noise that is added."""
    keep = xp.exp(-rate * _INTERVAL)
    return keep, volatility * xp.sqrt(-xp.expm1(-2 * rate * _INTERVAL) / (2 * rate))


def _parameters(z: Float[np.ndarray, "m 3"]) -> Float[np.ndarray, "3 m"]:
    """Parameters from standard normal ones."""
    numbers = np.array([_MEAN, _LOG_RATE, _LOG_VOLATILITY])
    theta = numbers[:, :1] + numbers[:, 1:] * z.T
    return np.concatenate([theta[:1], np.exp(theta[1:])])
