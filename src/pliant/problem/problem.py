"""The problem: prior, simulator and observations, validated once."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import Distribution

from pliant._checks import check_numbers, shape_text
from pliant.problem.prior import Prior, read_prior
from pliant.simulators.base import AbstractSimulator
from pliant.simulators.external import AbstractExternalSimulator
from pliant.simulators.jax import JaxSimulator


class Problem(eqx.Module):
    """The inference problem: which parameters of ``simulator`` explain ``observed``?

    Args:
        prior: A dict of names to ``numpyro.distributions``, or one such distribution.
            Scalars, vectors and matrices on any support that numpyro can unconstrain.
        simulator: A JAX function ``f(key, theta) -> x`` for one draw, where ``theta`` has the
            names and shapes of the prior; ``PythonSimulator`` for any other function, or
            ``CommandSimulator`` for a program.
        observed: The measured data sets, ``(N, *event)``; ``event`` is the shape of one draw.
        scale: Divisors that put the features of an observation on a common scale before sets
            are compared: "auto" takes them from the observations' own spread (from a pilot
            where there are fewer than ten), "pilot" from simulations with the prior, an array
            of shape ``event`` gives them, None compares raw values.

    Raises:
        TypeError, ValueError: For mistakes that can be detected before simulating.
    """

    prior: Prior
    simulator: AbstractSimulator
    observed: Float[Array, "N *event"]
    scale: tuple[float, ...] | str | None = eqx.field(static=True)

    def __init__(
        self,
        prior: dict[str, Distribution] | Distribution,
        simulator: Callable[[Any, Any], Any] | AbstractSimulator,
        observed: Any,
        *,
        scale: Any = "auto",
    ):
        self.prior = read_prior(prior)
        self.observed = _read_observed(observed)
        self.simulator = _read_simulator(simulator, self.observed.shape[1:])
        theta = jax.eval_shape(self.prior.space.constrain, jnp.zeros(self.prior.dim))
        event = self.simulator.event_shape(theta)
        _check_event_shape(event, self.observed.shape)
        self.scale = _read_scale(scale, event)

    def with_simulator(self, simulator: AbstractSimulator) -> "Problem":
        """The same problem with another source of the same draws."""
        return eqx.tree_at(lambda problem: problem.simulator, self, simulator)

    @property
    def n_obs(self) -> int:
        """N, the number of observed data sets."""
        return self.observed.shape[0]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return self.observed.shape[1:]


def _read_simulator(simulator: Any, event: tuple[int, ...]) -> AbstractSimulator:
    if isinstance(simulator, AbstractExternalSimulator):
        return simulator.expecting(event)
    if isinstance(simulator, AbstractSimulator):
        return simulator
    if not callable(simulator):
        raise TypeError(
            "simulator: expected a function simulator(key, theta) that returns one draw, "
            f"got {simulator!r}."
        )
    return JaxSimulator(simulator)


def _read_observed(observed: Any) -> Float[Array, "N *event"]:
    array = check_numbers("observed", observed)
    if array.ndim == 0:
        raise ValueError(
            "observed: expected an array of shape (N, *event), got a single number. "
            "Pass [x] for one observation."
        )
    if array.size == 0:
        raise ValueError(f"observed: expected at least one observation, got shape {array.shape}.")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    if not np.all(np.isfinite(single)):
        bad = np.unique(np.argwhere(~np.isfinite(single))[:, 0])
        raise ValueError(
            f"observed: {bad.size} of {array.shape[0]} observations are not finite in single "
            f"precision (the first is number {bad[0]}). Remove or impute them, or change units."
        )
    _check_range(array)
    return jnp.asarray(single)


def _check_range(observed: np.ndarray) -> None:
    """Refuse features that single precision, or simulations around them, would lose."""
    largest = np.max(np.abs(observed.reshape(len(observed), -1).astype(np.float64)), axis=0)
    for wrong, limit in ((largest > _LARGEST, "above 1e35"), (largest < _SMALLEST, "below 1e-35")):
        bad = np.flatnonzero(wrong & (largest > 0))
        if bad.size:
            raise ValueError(
                f"observed: feature {bad[0]} is of size {largest[bad[0]]:.1g}. Single precision "
                f"cannot compute with values {limit}. Change the units: multiply the feature by a "
                "constant, in the observations and in the simulator."
            )


_SMALLEST, _LARGEST = 1e-35, 1e35  # single precision ends at 1e-38 and 3e38


def _read_scale(scale: Any, event: tuple[int, ...]) -> tuple[float, ...] | str | None:
    if scale is None or (isinstance(scale, str) and scale in ("auto", "pilot")):
        return scale
    if isinstance(scale, str):
        raise ValueError(f'scale: expected "auto", "pilot", None or an array, got {scale!r}.')
    array = check_numbers("scale", scale).astype(np.float64)
    single = np.finfo(np.float32)
    if array.shape != event or not np.all((array >= single.tiny) & (array <= single.max)):
        raise ValueError(
            f"scale: expected positive numbers of the observations' shape {event}, within the "
            f"range of single precision, got {scale!r}."
        )
    return tuple(array.ravel().tolist())


def _check_event_shape(event: tuple[int, ...], observed: tuple[int, ...]) -> None:
    if observed[1:] == event:
        return
    hint = " For a single observation, pass observed[None]." if observed == event else ""
    raise ValueError(
        f"observed: expected the shape {shape_text('N', event)}, because the simulator returns "
        f"{event}, got {observed}.{hint}"
    )
