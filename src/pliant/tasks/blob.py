"""Blob: place and size of a bright spot from noisy images."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.special
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.annealing import sample_annealed
from pliant.tasks.base import AbstractTask, Samples, read_observed

PIXELS = 28
_TRUTH = {"x": 0.25, "y": -0.35, "size": 0.3}
_EDGE = 0.8  # the spot's middle is within plus and minus this, in an image from -1 to 1
_LOG_SIZE = (-1.4, 0.3)
_NOISE = 0.5
_CHUNK = 2000  # images at a time


class BlobTask(AbstractTask):
    """Images of 28 x 28 pixels: a Gaussian spot of the height one, and noise in each pixel.

    The noise is Gaussian with the deviation 0.5. The mean image is sufficient, and the likelihood
    is known exactly.
    """

    name: ClassVar[str] = "blob"
    summary: ClassVar[str] = "place and size of a bright spot from noisy images"
    scale: ClassVar[str | None] = "auto"

    @property
    def truth(self) -> dict[str, Array]:
        """A spot in a quarter of the image."""
        return {name: jnp.array(value) for name, value in _TRUTH.items()}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """A uniform place and a log-normal size."""
        place = {name: dist.Uniform(-_EDGE, _EDGE) for name in ("x", "y")}
        return {**place, "size": dist.LogNormal(*_LOG_SIZE)}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "28 28"]:
        """An image; x grows along its columns, y along its rows."""
        spot = image(*(theta[name] for name in _TRUTH), xp=jnp)
        return spot + _NOISE * jax.random.normal(key, spot.shape)

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Independent draws by annealing and rejection; see ``AbstractTask.posterior_samples``."""
        x = read_observed(observed, (PIXELS, PIXELS))
        n = check_integer("n", n, at_least=1)
        rng = np.random.default_rng(seed)
        log_likelihood = _log_likelihood(x.mean(axis=0), len(x))
        theta = _parameters(sample_annealed(log_likelihood, len(_TRUTH), n=n, rng=rng))
        return dict(zip(_TRUTH, theta, strict=True))


def image(x: Any, y: Any, size: Any, *, xp: Any) -> Any:
    """Images without noise, ``(*batch, 28, 28)``."""
    pixels = np.linspace(-1, 1, PIXELS)
    across, along = (
        xp.exp(-((pixels - xp.asarray(middle)[..., None]) ** 2) / (2 * size[..., None] ** 2))
        for middle in (x, y)
    )
    return along[..., :, None] * across[..., None, :]


def _log_likelihood(mean: Float[np.ndarray, "28 28"], n_obs: int) -> Any:
    def log_likelihood(z: np.ndarray) -> np.ndarray:
        parts = np.array_split(_parameters(z), 1 + len(z) // _CHUNK, axis=1)
        squares = [np.sum((image(*p, xp=np) - mean) ** 2, axis=(1, 2)) for p in parts]
        return -n_obs * np.concatenate(squares) / (2 * _NOISE**2)

    return log_likelihood


def _parameters(z: Float[np.ndarray, "m 3"]) -> Float[np.ndarray, "3 m"]:
    """Parameters from standard normal ones."""
    place = _EDGE * (2 * scipy.special.ndtr(z[:, :2]) - 1)
    size = np.exp(_LOG_SIZE[0] + _LOG_SIZE[1] * z[:, 2])
    return np.stack([*place.T, size])
