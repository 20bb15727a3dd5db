"""The posterior: samples and densities in the user's own names, shapes and units."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.optimize import minimize

from pliant._checks import check_integer, check_numbers, check_seed
from pliant.densities.amortised import AmortisedDensity
from pliant.densities.base import AbstractDensity
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem import markup
from pliant.problem.prior import Prior
from pliant.problem.problem import Problem
from pliant.problem.samples import as_table
from pliant.problem.space import Space, constrain_all
from pliant.run.figures import posterior_figure
from pliant.run.inference_data import inference_data
from pliant.run.show import parameters_text, posterior_html, summary_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAP_STARTS = 2000
NO_POSTERIOR = "No round gave a posterior: this is the prior."


class Posterior(eqx.Module):
    """A density over the simulator's parameters. Every sample lies in the prior's support."""

    space: Space
    density: AbstractDensity

    def __repr__(self) -> str:
        what = "the prior" if self.is_prior else type(self.density).__name__
        note = "; no round gave a posterior" if self.is_prior else ""
        return f"Posterior({what} over {parameters_text(self.space)}{note})"

    def _repr_html_(self) -> str:
        return posterior_html(self)

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

    def plot(self, n: int = 10_000, *, seed: int = 0, **options: Any) -> "Figure":
        """The pair plot of ``n`` draws.

        Args:
            n: The number of draws.
            seed: Their seed.
            **options: ``truth``, ``reference``, ``reference_name``, ``names`` and ``title``, as
                ``pliant.plots.plot_pairs`` takes them.
        """
        return posterior_figure(self, n, seed, **options)

    def to_arviz(
        self,
        n: int = 10_000,
        *,
        problem: Problem | None = None,
        n_predictive: int = 100,
        log_likelihood: Callable[..., Any] | AbstractLikelihood | None = None,
        seed: int = 0,
    ) -> Any:
        """``n`` draws as an ``arviz.InferenceData`` (needs ``pliant[arviz]``).

        Draws of a fitted density are independent. They are split into four chains, if ``n`` is a
        multiple of four and at least 16. Draws of particles repeat, and are one chain.

        Args:
            n: The number of draws of the posterior, and of the prior.
            problem: The problem of the run. It adds the groups ``prior``, ``log_prior``,
                ``observed_data`` and ``posterior_predictive``.
            n_predictive: The number of posterior predictive sets of N simulations each; 0 for none.
                Sets with a failed draw are left out.
            log_likelihood: A JAX function ``f(theta, x)`` (with conditions, ``f(theta, x,
                condition)``) of one observation, if you know it. It adds the group
                ``log_likelihood``, for ``arviz.loo`` and ``arviz.psens``. ``Result.to_arviz``
                passes the one that a run has learned.
            seed: The seed of all draws.

        Raises:
            ImportError: If ArviZ is not installed.
            ValueError: If the problem has other parameters, or the log-likelihood is not finite.
        """
        return inference_data(
            self,
            n,
            problem=problem,
            n_predictive=n_predictive,
            log_likelihood=log_likelihood,
            seed=seed,
        )


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

    def _repr_html_(self) -> str:
        note = [markup.paragraph(NO_POSTERIOR)] * self.is_prior
        return markup.page("Summary", *note, summary_html(self))


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
