"""The posterior: samples and densities in the user's own names, shapes and units."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.optimize import minimize

from pliant._checks import check_integer, check_numbers, check_seed
from pliant.densities.amortised import AmortisedDensity
from pliant.densities.base import AbstractDensity
from pliant.problem.prior import Prior
from pliant.problem.samples import as_table, named
from pliant.problem.space import Space, constrain_all

_MAP_STARTS = 2000
NO_POSTERIOR = "No round gave a posterior: this is the prior."


class Posterior(eqx.Module):
    """A density over the simulator's parameters. Every sample lies in the prior's support."""

    space: Space
    density: AbstractDensity

    def __repr__(self) -> str:
        if not self.is_prior:
            return super().__repr__()
        names = "" if self.space.names is None else f" over {', '.join(self.space.names)}"
        return f"Posterior(the prior{names}; no round gave a posterior)"

    @property
    def is_prior(self) -> bool:
        """Whether this is the prior, because no round of the run gave a posterior."""
        return isinstance(self.density, Prior)

    def sample(self, n: int, *, seed: int = 0) -> PyTree:
        """Draw ``n`` parameters.

        Returns:
            NumPy arrays in the prior's structure, with a leading axis of length ``n``.
        """
        check_integer("n", n, at_least=1)
        check_seed("seed", seed)
        z = self.density.sample(jax.random.key(seed), n)
        return jax.tree.map(np.asarray, constrain_all(self.space, z))

    def log_prob(self, theta: PyTree) -> np.ndarray:
        """Log density in the user's space, at one parameter or at a batch of them.

        Args:
            theta: In the prior's structure; leading axes are a batch.

        Returns:
            An array of the batch's shape; ``-inf`` outside of the support.
        """
        flat, batch = self.space.read(theta)
        inside = _inside(self.space, flat)
        values = _log_prob(self, flat)
        return np.where(inside, np.asarray(values), -np.inf).reshape(batch)

    def summary(self, n: int = 10_000, *, seed: int = 0) -> "Summary":
        """Mean, standard deviation and quantiles of every parameter, from ``n`` draws."""
        columns, values = as_table(self.sample(n, seed=seed), self.space.names)
        quantiles = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
        moments = values.mean(axis=0), values.std(axis=0)
        return Summary(tuple(columns), *moments, *quantiles, is_prior=self.is_prior)

    def given(self, observed: Any) -> "Posterior":
        """The posterior given other observations of the same shape, without new training.

        They are taken to be made under the same conditions, with the same gaps.

        Raises:
            TypeError: If the method learned the posterior of its own observations only.
            ValueError: If ``observed`` has another shape or is not finite.
        """
        if not isinstance(self.density, AmortisedDensity):
            raise TypeError(
                "given: this posterior holds for its own observations only. pliant.APT() learns "
                "one that can be conditioned on others."
            )
        array = check_numbers("observed", observed).astype(np.float32)
        expected = self.density.observed.shape
        if array.shape != expected or not np.all(np.isfinite(array)):
            raise ValueError(
                f"observed: expected finite numbers of the shape {expected}, got the shape "
                f"{array.shape} with {np.sum(~np.isfinite(array))} that are not finite."
            )
        return Posterior(self.space, dataclasses.replace(self.density, observed=jnp.asarray(array)))

    def map(self, *, seed: int = 0) -> PyTree:
        """The parameter of highest density in the user's space.

        L-BFGS-B starts at the best of many draws and stays within their range. The maximum
        depends on the parameterisation.
        """
        check_seed("seed", seed)
        z = self.density.sample(jax.random.key(seed), _MAP_STARTS)
        values = np.asarray(_log_prob_z(self, z))
        start = np.asarray(z[int(np.argmax(values))], np.float64)

        def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = _minus_log_prob_and_gradient(self, jnp.asarray(point, float))
            return float(value), np.asarray(gradient, np.float64)

        bounds = np.stack([np.min(z, axis=0), np.max(z, axis=0)], axis=1)
        found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B")
        best = found.x if -found.fun >= values.max() else start
        return jax.tree.map(np.asarray, self.space.constrain(jnp.asarray(best, float)))

    def to_arviz(self, n: int = 10_000, *, seed: int = 0) -> Any:
        """``n`` draws as an ``arviz.InferenceData`` with one chain (needs ``pliant[arviz]``)."""
        try:
            import arviz
        except ImportError as error:
            raise ImportError("to_arviz needs ArviZ: pip install 'pliant[arviz]'.") from error
        theta = self.sample(n, seed=seed)
        return arviz.from_dict(posterior={name: leaf[None] for name, leaf in named(theta).items()})


class Summary(NamedTuple):
    """A table of every parameter's marginal, with one row per entry of a vector."""

    names: tuple[str, ...]
    mean: Float[np.ndarray, " columns"]
    sd: Float[np.ndarray, " columns"]
    q05: Float[np.ndarray, " columns"]
    median: Float[np.ndarray, " columns"]
    q95: Float[np.ndarray, " columns"]
    is_prior: bool = False
    """Whether these are the marginals of the prior, because no round gave a posterior."""

    def __str__(self) -> str:
        width = max(map(len, self.names))
        heads = ("mean", "sd", "5 %", "50 %", "95 %")
        lines = [NO_POSTERIOR] * self.is_prior
        lines.append(" " * width + "".join(f"{head:>11}" for head in heads))
        for name, *numbers in zip(*self[:-1], strict=True):
            lines.append(name.ljust(width) + "".join(f"{number:>11.4g}" for number in numbers))
        return "\n".join(lines)


@eqx.filter_jit
def _log_prob_z(posterior: Posterior, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
    return posterior.density.log_prob(z) - jax.vmap(posterior.space.log_det)(z)


@eqx.filter_jit
def _log_prob(posterior: Posterior, theta: PyTree) -> Float[Array, " n"]:
    return _log_prob_z(posterior, jax.vmap(posterior.space.unconstrain)(theta))


@eqx.filter_jit
def _minus_log_prob_and_gradient(posterior: Posterior, z: Float[Array, " dim"]) -> Any:
    return jax.value_and_grad(lambda point: -_log_prob_z(posterior, point[None])[0])(z)


def _inside(space: Space, theta: PyTree) -> np.ndarray:
    checks = [
        np.asarray(jax.vmap(lambda x, s=support: jnp.all(s(x)) & jnp.all(jnp.isfinite(x)))(leaf))
        for support, leaf in zip(space.supports, space.leaves(theta), strict=True)
    ]
    return np.all(checks, axis=0)
