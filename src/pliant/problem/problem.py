"""The problem: prior, simulator and observations, validated once."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpyro.distributions import Distribution

from pliant._checks import check_numbers, shape_text
from pliant.problem import markup
from pliant.problem.describe import described
from pliant.problem.observations import (
    Conditions,
    Missing,
    means_of_seen,
    read_conditions,
    read_observations,
)
from pliant.problem.prior import Prior, read_prior
from pliant.simulators.base import AbstractSimulator
from pliant.simulators.external import AbstractExternalSimulator, Setting
from pliant.simulators.jax import JaxSimulator
from pliant.simulators.layout import Layout


class Problem(eqx.Module):
    """The inference problem: which parameters of ``simulator`` explain ``observed``?

    Args:
        prior: A dict of names to ``numpyro.distributions``, or one such distribution.
            Scalars, vectors and matrices on any support that numpyro can unconstrain.
        simulator: A JAX function ``f(key, theta) -> x`` for one draw, where ``theta`` has the
            names and shapes of the prior; ``PythonSimulator`` for any other function, or
            ``CommandSimulator`` for a program. With conditions, ``f(key, theta, condition)``.
        observed: The measured data sets, ``(N, *event)``, where ``event`` is the shape of one
            draw; or a dict of such arrays, if the simulator returns a dict.
        conditions: What each observation was made under, such as a dose or a stimulus:
            ``(N, ...)``, or a dict of such arrays; None if all were made alike.
        missing: True if NaN in ``observed`` stands for a number that was not measured, for
            reasons that have nothing to do with it: simulated draws get the same gaps.
            "simulated" if the simulator itself returns NaN for what it leaves out, as after a
            deadline: then what is missing is part of the data.
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
    """Gaps are filled."""
    seen: Bool[np.ndarray, "N *event"] | None
    """Which numbers were measured; None if all were."""
    conditions: Conditions | None
    layout: Layout = eqx.field(static=True)
    """The structure of an observation."""
    missing: Missing = eqx.field(static=True)
    scale: tuple[float, ...] | str | None = eqx.field(static=True)

    def __init__(
        self,
        prior: dict[str, Distribution] | Distribution,
        simulator: Callable[..., Any] | AbstractSimulator,
        observed: Any,
        *,
        conditions: Any = None,
        missing: Any = False,
        scale: Any = "auto",
    ):
        self.prior = read_prior(prior)
        observations = read_observations(observed, missing)
        self.observed, self.seen = observations.x, observations.seen
        self.layout, self.missing = observations.layout, missing
        self.conditions = read_conditions(conditions, self.n_obs)
        values = None if self.conditions is None else self.conditions.values
        setting = Setting(self.layout, values, gaps=missing == "simulated")
        self.simulator = _read_simulator(simulator, setting)
        theta = jax.eval_shape(self.prior.space.constrain, jnp.zeros(self.prior.dim))
        event = self.simulator.event_shape(theta)
        _check_event_shape(event, self.observed.shape)
        self.scale = _read_scale(scale, event)

    def __repr__(self) -> str:
        return "\n".join(["Problem", *(f"  {name}: {text}" for name, text in described(self))])

    def _repr_html_(self) -> str:
        return markup.page("Problem", markup.listing(described(self)))

    def with_simulator(self, simulator: AbstractSimulator) -> "Problem":
        """The same problem with another source of the same draws."""
        return eqx.tree_at(lambda problem: problem.simulator, self, simulator)

    def with_more(
        self,
        x: Float[np.ndarray, "m *event"],
        under: Int[np.ndarray, " m"],
        seen: Bool[np.ndarray, "m *event"] | None = None,
    ) -> "Problem":
        """The problem with more observations, made under conditions of its own ones.

        Args:
            x: The new observations.
            under: The number of the observation whose condition each of them has.
            seen: Which of their numbers were measured, where that is not all.
        """
        parts: dict[str, Any] = {
            "observed": jnp.concatenate([self.observed, jnp.asarray(x, float)])
        }
        values = None
        if self.conditions is not None:
            both = np.concatenate([np.arange(self.n_obs), under])
            values = jax.tree.map(lambda a: np.asarray(a)[both], self.conditions.values)
            parts["conditions"] = Conditions(values, self.conditions.rows[both])
        if self.seen is not None:
            new = np.ones(x.shape, bool) if seen is None else seen
            parts["seen"] = np.concatenate([self.seen, new])
        setting = Setting(self.layout, values, gaps=self.missing == "simulated")
        parts["simulator"] = _read_simulator(self.simulator, setting)
        return eqx.tree_at(
            lambda problem: [getattr(problem, name) for name in parts], self, list(parts.values())
        )

    @property
    def n_obs(self) -> int:
        """N, the number of observed data sets."""
        return self.observed.shape[0]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return self.observed.shape[1:]

    @property
    def gappy(self) -> Int[np.ndarray, " g"]:
        """The features, of a flattened observation, that are not always measured.

        A simulator may leave out what no observation lacks.
        """
        if self.seen is None:
            return np.zeros(0, int)
        if self.missing == "simulated":
            return np.arange(self.seen[0].size)
        return np.flatnonzero(~self.seen.reshape(self.n_obs, -1).all(axis=0))

    @property
    def filler(self) -> Float[np.ndarray, "*event"]:
        """What stands in for numbers that were not measured: the mean of the others."""
        assert self.seen is not None
        return means_of_seen(np.asarray(self.observed), self.seen)

    @property
    def extras(self) -> int:
        """How many numbers belong to an observation beside its own: conditions and gaps."""
        return len(self.gappy) + (0 if self.conditions is None else self.conditions.rows.shape[1])

    @property
    def is_uniform(self) -> bool:
        """Whether all observations were made under one condition and with the same gaps."""
        return self.conditions is None and (self.seen is None or self.missing == "simulated")


def _read_simulator(simulator: Any, setting: Setting) -> AbstractSimulator:
    if isinstance(simulator, AbstractExternalSimulator):
        return simulator.within(setting)
    if isinstance(simulator, JaxSimulator):
        simulator = simulator.function
    if isinstance(simulator, AbstractSimulator):
        if setting.conditions is not None:
            raise TypeError(
                "conditions: expected a function, a PythonSimulator or a CommandSimulator, got "
                f"{type(simulator).__name__}, whose draws have no conditions."
            )
        return simulator
    if not callable(simulator):
        more = "" if setting.conditions is None else ", condition"
        raise TypeError(
            f"simulator: expected a function simulator(key, theta{more}) that returns one draw, "
            f"got {simulator!r}."
        )
    return JaxSimulator(simulator, setting.conditions, setting.gaps, setting.layout)


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
