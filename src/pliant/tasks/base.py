"""The interface of a task: a problem with known true parameters and an exact posterior."""

import abc
import dataclasses
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree
from numpyro.distributions import Distribution

from pliant._checks import check_integer, check_seed, shape_text
from pliant.problem.problem import Problem
from pliant.tasks.cache import Samples, as_json, cached


class AbstractTask(eqx.Module):
    """A simulator with a prior and true parameters, at which it simulates observations.

    The fields of a subclass are the task's options.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What is inferred from what, in one line."""
    has_reference: ClassVar[bool] = True
    """Whether the exact posterior can be sampled."""
    scale: ClassVar[str | None] = None
    """``Problem.scale``. The paper compares data in their own units."""
    reference_version: ClassVar[int] = 1
    """Increase it when ``posterior_samples`` changes, to discard cached references."""

    @property
    @abc.abstractmethod
    def truth(self) -> dict[str, Array]:
        """The true parameters, in the prior's structure."""

    @property
    @abc.abstractmethod
    def prior(self) -> dict[str, Distribution]:
        """The prior, by name."""

    @abc.abstractmethod
    def simulator(self, key: Key[Array, ""], theta: PyTree) -> PyTree:
        """One draw of the data. That of a task with conditions takes one of them, ``condition``."""

    @abc.abstractmethod
    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """``n`` independent, exact samples of the posterior given any observations.

        Args:
            observed: ``(N, *event)``, as returned by ``observed(...)``, or any other observations.
            seed: The seed of the samples.
            n: The number of samples.

        A task with conditions takes those of the observations as another argument, ``conditions``.

        Returns:
            Name to ``(n, *shape)`` in double precision.

        Raises:
            ValueError: If the task has no exact posterior.
        """

    def reference(self, n_obs: int = 100, seed: int = 0, n: int = 10_000) -> dict[str, Array]:
        """Samples of the exact posterior given ``observed(n_obs, seed)``, cached on disk.

        Returns:
            Name to ``(n, *shape)``, like ``Posterior.sample``.

        Raises:
            ValueError: If the task has no exact posterior (see ``has_reference``).
        """
        n = check_integer("n", n, at_least=1)
        x = self.observed(n_obs, seed)
        if not self.has_reference:
            self.posterior_samples(x, seed=seed, n=n)  # raises, and says why
        size = {"n_obs": int(n_obs), "seed": int(seed), "n": n}
        options = {name: as_json(getattr(self, name)) for name in option_names(type(self))}
        key = {"task": self.name, "version": self.reference_version, "options": options, **size}
        conditions = self.conditions(n_obs, seed)
        compute = partial(exact_samples, self, x, conditions, seed=seed, n=n)
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((x, conditions))]
        data = leaves[0] if len(leaves) == 1 else np.concatenate([a.ravel() for a in leaves])
        samples = cached(key, data, compute)
        return {name: jnp.asarray(value, float) for name, value in samples.items()}

    def conditions(self, n_obs: int = 100, seed: int = 0) -> Any:
        """What the observations are made under, ``(n_obs, ...)``; None if they are all alike."""
        return None

    def observed(self, n_obs: int = 100, seed: int = 0) -> Any:
        """``n_obs`` independent draws at the truth. A larger set starts with the smaller ones.

        Returns:
            An array ``(N, *event)``, or a dict of such arrays, as the simulator does.
        """
        n_obs = check_integer("n_obs", n_obs, at_least=1)
        seed = check_seed("seed", seed)
        key = jax.random.fold_in(jax.random.key(seed), _OBSERVATIONS)
        starts = range(0, n_obs, _BLOCK)
        conditions = self.conditions(_BLOCK * len(starts), seed)
        blocks = [
            _draw_block(
                self,
                key,
                jnp.asarray(start),
                jax.tree.map(lambda leaf, i=start: jnp.asarray(leaf)[i : i + _BLOCK], conditions),
            )
            for start in starts
        ]
        whole = jax.tree.map(lambda *parts: np.concatenate(parts)[:n_obs], *blocks)
        return jax.tree.map(jnp.asarray, whole)

    def problem(self, n_obs: int = 100, seed: int = 0) -> Problem:
        """The inference problem given ``observed(n_obs, seed)``."""
        return Problem(
            prior=self.prior,
            simulator=self.simulator,
            observed=self.observed(n_obs, seed),
            conditions=self.conditions(n_obs, seed),
            scale=self.scale,
        )


def exact_samples(
    task: AbstractTask, observed: Any, conditions: Any, *, seed: int, n: int
) -> Samples:
    """``task.posterior_samples`` given observations and their conditions, if there are any."""
    given: dict[str, Any] = {} if conditions is None else {"conditions": conditions}
    return task.posterior_samples(observed, **given, seed=seed, n=n)


def option_names(kind: type[AbstractTask]) -> tuple[str, ...]:
    """The names of a task's options."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


def read_conditions(conditions: Any, n_obs: int) -> Float[np.ndarray, " N"]:
    """Check that there is one number for each observation, and convert them."""
    c = np.asarray(conditions, dtype=np.float64)
    if c.shape != (n_obs,) or not np.all(np.isfinite(c)):
        raise ValueError(f"conditions: expected {n_obs} finite numbers, got the shape {c.shape}.")
    return c


def read_observed(observed: Any, event: tuple[int, ...]) -> Float[np.ndarray, "N *event"]:
    """Check the shape of observations and convert them to double precision."""
    x = np.asarray(observed, dtype=np.float64)
    if x.shape[1:] != event or x.shape[:1] in ((), (0,)):
        raise ValueError(f"observed: expected the shape {shape_text('N', event)}, got {x.shape}.")
    return x


@eqx.filter_jit
def _draw_block(
    task: AbstractTask, key: Key[Array, ""], start: Array, conditions: PyTree
) -> PyTree:
    """Draws ``start``, ``start + 1``, ... at the truth.

    Blocks of equal size compile once and round alike for all ``n_obs``.
    """
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(start + jnp.arange(_BLOCK))

    simulator: Any = task.simulator

    def draw(key: Key[Array, ""], *condition: Any) -> PyTree:
        x = simulator(key, task.truth, *condition)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), x)

    return jax.vmap(draw)(keys, *(() if conditions is None else (conditions,)))


_BLOCK = 100
_OBSERVATIONS = 0x0B5  # separates these random numbers from those of a run with the same seed
