"""Regression: a line and its noise from points that were measured at given places."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.base import AbstractTask, Samples, read_conditions, read_observed

_TRUTH = {"intercept": 0.5, "slope": -1.2, "sigma": 0.7}
_WIDTH = 2.0  # the prior's standard deviation of intercept and slope
_RANGE = 2.0  # conditions are spread evenly from -2 to 2
_GRID = 4001  # values of log sigma
_BROAD, _REACH = 8.0, 10.0  # of the first grid, in units of the prior, and of the last, in sd
_CONDITIONS = 0xC0  # separates these random numbers from those of the observations


class RegressionTask(AbstractTask):
    """``y = intercept + slope * c + sigma * noise`` at a condition c of each observation.

    Given sigma, the posterior of intercept and slope is Gaussian and known in closed form; that of
    sigma alone has one dimension.
    """

    name: ClassVar[str] = "regression"
    summary: ClassVar[str] = "a line and its noise from points at given places"
    scale: ClassVar[str | None] = "auto"

    @property
    def truth(self) -> dict[str, Array]:
        """A falling line."""
        return {name: jnp.array(value) for name, value in _TRUTH.items()}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Normal coefficients, and a log-normal deviation of the noise."""
        line = {name: dist.Normal(0.0, _WIDTH) for name in ("intercept", "slope")}
        return {**line, "sigma": dist.LogNormal(0.0, 1.0)}

    def conditions(self, n_obs: int = 100, seed: int = 0) -> Float[Array, " N"]:
        """Random places; a larger set starts with the smaller ones."""
        keys = jax.random.fold_in(jax.random.key(seed), _CONDITIONS)
        draw = lambda i: jax.random.uniform(jax.random.fold_in(keys, i), (), float, -1, 1)  # noqa: E731
        return _RANGE * jax.vmap(draw)(jnp.arange(n_obs))

    def simulator(
        self, key: Key[Array, ""], theta: dict[str, Array], condition: Any = None
    ) -> Float[Array, ""]:
        """One point."""
        mean = theta["intercept"] + theta["slope"] * condition
        return mean + theta["sigma"] * jax.random.normal(key)

    def posterior_samples(
        self, observed: Any, *, conditions: Any = None, seed: int = 0, n: int = 10_000
    ) -> Samples:
        """Sigma from a fine grid, the line in closed form; see ``AbstractTask``."""
        y = read_observed(observed, ())
        design = np.stack([np.ones(len(y)), read_conditions(conditions, len(y))], axis=1)
        n = check_integer("n", n, at_least=1)
        rng = np.random.default_rng(seed)
        grid = np.linspace(-_BROAD, _BROAD, _GRID)
        mass = _masses(grid, design, y)
        for _ in range(2):  # the grid closes in on the posterior
            middle = mass @ grid
            reach = _REACH * np.sqrt(mass @ (grid - middle) ** 2)
            grid = np.linspace(middle - reach, middle + reach, _GRID)
            mass = _masses(grid, design, y)
        step = grid[1] - grid[0]
        log_sigma = rng.choice(grid, n, p=mass) + step * (rng.random(n) - 0.5)
        mean, root = _line(np.exp(log_sigma), design, y)
        line = mean + np.einsum("nij,nj->ni", root, rng.standard_normal((n, 2)))
        return {"intercept": line[:, 0], "slope": line[:, 1], "sigma": np.exp(log_sigma)}


def _line(
    sigma: Float[np.ndarray, " m"], design: Float[np.ndarray, "N 2"], y: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "m 2"], Float[np.ndarray, "m 2 2"]]:
    """Mean of intercept and slope given sigma, and a root of their covariance."""
    precision = (design.T @ design) / sigma[:, None, None] ** 2 + np.eye(2) / _WIDTH**2
    covariance = np.linalg.inv(precision)
    mean = np.einsum("mij,j->mi", covariance, design.T @ y) / sigma[:, None] ** 2
    return mean, np.linalg.cholesky(covariance)


def _masses(
    log_sigma: Float[np.ndarray, " m"], design: Float[np.ndarray, "N 2"], y: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " m"]:
    """The posterior of log sigma on a grid, with intercept and slope integrated out."""
    sigma = np.exp(log_sigma)
    mean, root = _line(sigma, design, y)
    residual = y[None] - mean @ design.T
    fit = -np.sum(residual**2, axis=1) / (2 * sigma**2) - np.sum(mean**2, axis=1) / (2 * _WIDTH**2)
    volume = np.sum(np.log(np.diagonal(root, axis1=1, axis2=2)), axis=1)
    value = fit + volume - len(y) * log_sigma - log_sigma**2 / 2
    mass = np.exp(value - value.max())
    return mass / mass.sum()
