"""Standardising: the scales at which observations and parameters are compared and learned.

Distances divide the features of an event by *divisors*. Networks see observations through a
``Squash``, and parameters through a ``Standardise`` of each round.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Key, Num

from pliant.problem.points import SPREADS
from pliant.problem.problem import Problem
from pliant.problem.sets import simulate_sets
from pliant.problem.space import constrain_all

_PILOT = (256, 4)  # particles and draws of the pilot
_ENOUGH = 10  # observations whose own spread is trusted
_LINEAR = 10.0  # spreads from the centre within which a squash changes nothing
_LOG_GAIN = 0.01  # nats a draw that logarithms must gain
_TINY = 1e-30  # no logarithm is taken of less


# Divisors: events as rows of features, each divided by its scale.


def as_divisors(scale: Any) -> Array | None:
    """The option ``scale`` as an array of positive divisors, one for each feature.

    Raises:
        TypeError: If it holds something other than numbers.
        ValueError: If it is not a vector of finite positive numbers.
    """
    if scale is None or isinstance(scale, Tracer):
        return scale
    try:
        values = np.asarray(scale, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"scale: expected None or a vector of numbers, got {scale!r}.") from None
    if values.ndim != 1:
        raise ValueError(
            "scale: expected None or a vector with one divisor for each feature of the flattened "
            f"event, got an array of shape {values.shape}."
        )
    single = np.finfo(np.float32)
    if not np.all((values >= single.tiny) & (values <= single.max)):
        raise ValueError(
            f"scale: expected positive divisors in the range of single precision, got {values}."
        )
    return jnp.asarray(values)


def as_rows(
    x: Num[Array | np.ndarray, "*lead_event"], lead: int, scale: Float[Array, " d"] | None
) -> Float[Array, "*lead d"]:
    """Events flattened to ``d`` features, each divided by its divisor.

    Args:
        x: Events, with ``lead`` leading axes.
        lead: How many axes come before those of the event.
        scale: The divisors; None leaves the features as they are.

    Raises:
        ValueError: If the number of divisors is not the number of features.
    """
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    rows = x.reshape(*x.shape[:lead], -1)
    if scale is None:
        return rows
    if scale.shape != rows.shape[-1:]:
        raise ValueError(
            f"scale: expected {rows.shape[-1]} divisors, one for each feature of an event of "
            f"shape {x.shape[lead:]}, got {scale.size}."
        )
    return rows / jnp.expand_dims(scale.astype(rows.dtype), range(lead))


def check_same_features(x: Float[Array, "K M d"], observed: Float[Array, "N e"]) -> None:
    """Raise a ``ValueError`` unless simulated and observed events have as many features."""
    if x.shape[-1] != observed.shape[-1]:
        raise ValueError(
            f"x: expected events with {observed.shape[-1]} features, as observed, got "
            f"{x.shape[-1]}."
        )


def feature_divisors(
    key: Key[Array, ""], problem: Problem
) -> tuple[Float[np.ndarray, " d"] | None, int]:
    """The divisors of ``problem.scale``, and the number of simulator calls that they cost.

    "auto" takes three times the spread of each feature over the observations. It takes the
    spread over pilot simulations if there are fewer than ten observations, and for a feature that
    does not vary.
    """
    if problem.scale is None:
        return None, 0
    if not isinstance(problem.scale, str):
        return np.asarray(problem.scale), 0
    if problem.scale != "auto" or problem.n_obs < _ENOUGH:
        return _pilot_spread(key, problem), math.prod(_PILOT)
    everything = jnp.ones((1, problem.n_obs), bool)
    seen = True if problem.seen is None else problem.seen
    measured = jnp.where(seen, problem.observed, jnp.nan)
    own = SPREADS * np.asarray(robust_spread(measured[None], everything))
    varies = _varies(problem)
    if np.all(varies):
        return own, 0
    return np.where(varies, own, _pilot_spread(key, problem)), math.prod(_PILOT)


def pilot_simulations(problem: Problem) -> int:
    """The number of simulator calls that ``feature_divisors`` makes."""
    if not isinstance(problem.scale, str):
        return 0
    own = problem.scale == "auto" and problem.n_obs >= _ENOUGH and np.all(_varies(problem))
    return 0 if own else math.prod(_PILOT)


def robust_spread(x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]) -> Float[Array, " d"]:
    """How far each feature spreads over all sets.

    Half the range from the 16 % to the 84 % quantile, which is the standard deviation of a normal
    feature and is not moved by a few wild draws. Where that is zero, as for counts that are
    mostly zero, it is the standard deviation. A constant feature gets 1.

    Args:
        x: Simulated sets, as from the prior.
        ok: Which draws are usable; the others are ignored.
    """
    rows = as_rows(x, 2, None)
    rows = jnp.where(ok[..., None], rows, jnp.nan).reshape(-1, rows.shape[-1])
    # "nearest" returns values of the sample, so a constant feature has a spread of exactly zero.
    low, high = jnp.nanquantile(rows, jnp.array([0.16, 0.84]), axis=0, method="nearest")
    spread = (high - low) / 2
    deviation = jnp.where(jnp.nanmax(rows, 0) > jnp.nanmin(rows, 0), _deviation(rows), 0)
    spread = jnp.where(spread > 0, spread, deviation)
    return jnp.where((spread > 0) & jnp.isfinite(spread), spread, 1)


def _deviation(rows: Float[Array, "n d"]) -> Float[Array, " d"]:
    """The standard deviation. Powers of two keep squares in range, and change no other bit."""
    _, exponent = jnp.frexp(jnp.nanmax(jnp.abs(rows), axis=0))
    size = jnp.ldexp(jnp.ones(rows.shape[1], rows.dtype), jnp.clip(exponent, -100, 100))
    return jnp.nanstd(rows / size[None], axis=0) * size


def _varies(problem: Problem) -> Bool[np.ndarray, " d"]:
    """Which features differ between observations."""
    return np.ptp(np.asarray(problem.observed).reshape(problem.n_obs, -1), axis=0) > 0


def _pilot_spread(key: Key[Array, ""], problem: Problem) -> Float[np.ndarray, " d"]:
    """The spread of each feature over simulations from the prior."""
    n_particles, n_draws = _PILOT
    prior_key, sim_key = jax.random.split(key)
    z = problem.prior.sample(prior_key, n_particles)
    draws = simulate_sets(sim_key, problem, z, n_draws)
    x = jnp.asarray(draws.x) if draws.seen is None else jnp.where(draws.seen, draws.x, jnp.nan)
    return np.asarray(robust_spread(x, jnp.asarray(draws.ok)))


# Inputs of networks.


class Squash(eqx.Module):
    """``(x - centre) / spread`` of each feature, which grows as a logarithm beyond ten spreads.

    Near the observations, a network sees data at their own scale and in their own shape: what is
    Gaussian stays Gaussian. Simulations that are a million spreads away still give numbers of
    moderate size. Some features may be replaced by their logarithms first.
    """

    centre: Float[Array, " d"]
    spread: Float[Array, " d"]
    logs: Bool[Array, " d"] | None = None
    """Which features are replaced by their logarithms; None for none."""

    @eqx.filter_jit
    def __call__(self, x: Float[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch d"]:
        """The features of any batch of flattened observations."""
        if self.logs is not None:
            chosen = jnp.expand_dims(self.logs, range(x.ndim - 1))
            x = jnp.where(chosen, jnp.log(jnp.maximum(jnp.asarray(x), _TINY)), jnp.asarray(x))
        ratio = _standardised(x, self.centre, self.spread)
        size = jnp.abs(ratio)
        beyond = jnp.maximum(size - _LINEAR, 0.0)
        return jnp.sign(ratio) * (jnp.minimum(size, _LINEAR) + jnp.log1p(beyond))


def fit_squash(
    observed: Float[np.ndarray, "N d"],
    simulated: Float[np.ndarray, "S d"],
    logs: Bool[np.ndarray, " d"] | None = None,
) -> Squash:
    """The squash for observations and simulations, of which some features become logarithms.

    It uses the observations' mean and standard deviation. With fewer than ten observations, and
    for a feature that does not vary, it uses the interquartile range of the simulations (as a
    standard deviation), or one if that does not vary either. NaN stands for what is not known.
    """
    observed = np.asarray(observed, np.float64)
    if logs is not None:
        observed, simulated = (
            np.where(logs, np.log(np.maximum(x, _TINY)), x) for x in (observed, simulated)
        )
    own = np.nanstd(observed, axis=0)
    own = np.where(np.isfinite(observed).sum(axis=0) >= _ENOUGH, own, 0.0)
    spread = np.where(own > 0, own, quartile_squash(simulated).spread)
    centre = jnp.asarray(np.nanmean(observed, axis=0), float)
    chosen = None if logs is None else jnp.asarray(logs)
    return Squash(centre, jnp.asarray(spread, float), chosen)


def better_as_logs(
    observed: Float[np.ndarray, "N d"],
    rows: Float[np.ndarray, "K M d"],
    ok: Bool[np.ndarray, "K M #d"],
) -> Bool[np.ndarray, " d"]:
    """Which features are closer to Gaussians by their logarithms, with an even deviation.

    Box and Cox's comparison, with the Jacobian ``1 / x`` of logarithms: the draws of each parameter
    are predicted by a Gaussian of their mean, as they are and as logarithms. The logarithms must
    win with one deviation for all parameters, and must not lose if each has its own: noise in
    proportion to the level is then even, and a Gaussian is not bent. Only features that are
    positive in all draws and observations are considered.
    """
    used = np.all(ok.sum(axis=1) > 1, axis=1)
    if not np.any(used):
        return np.zeros(observed.shape[1], bool)
    x, mask = np.asarray(rows[used], np.float64), ok[used]
    positive = ~np.any(observed <= 0, axis=0) & np.all((x > 0) | ~mask, axis=(0, 1))
    logs = np.log(np.where(mask & positive, x, 1.0))
    deviations = np.stack([np.std(values, axis=1, where=mask) for values in (x, logs)])
    varies = np.all(deviations > 0, axis=(0, 1))
    deviations = np.where(varies, deviations, 1.0)
    own = np.mean(np.log(deviations), axis=1)
    common = np.log(np.mean(deviations**2, axis=1)) / 2
    jacobian = np.mean(logs, axis=(0, 1), where=mask)
    own_gain, common_gain = (loss[0] - loss[1] - jacobian for loss in (own, common))
    return positive & varies & (own_gain > 0) & (common_gain > _LOG_GAIN)


def quartile_squash(rows: Float[np.ndarray, "S d"]) -> Squash:
    """By the median and the interquartile range (as a standard deviation), or one where it is 0."""
    quantile = np.nanquantile if np.any(np.isnan(rows)) else np.quantile
    low, middle, high = quantile(np.asarray(rows, np.float64), [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    return Squash(jnp.asarray(middle, float), jnp.asarray(np.where(spread > 0, spread, 1.0), float))


def flat_thetas(problem: Problem, z: Float[Array, "K dim"]) -> Float[Array, "K t"]:
    """Parameters in the user's units, as one vector each."""
    leaves = jax.tree.leaves(constrain_all(problem.prior.space, z))
    return jnp.concatenate([leaf.reshape(len(z), -1) for leaf in leaves], axis=1)


def parameter_features(
    problem: Problem, squash: Squash, z: Float[Array, "K dim"]
) -> Float[Array, "K c"]:
    """What networks see of a parameter: z, and theta itself with its tails drawn in.

    The simulator's output is often linear in theta where it is not in z: near the end of an
    interval.
    """
    return jnp.concatenate([z, squash(flat_thetas(problem, z))], axis=1)


class Standardise(eqx.Module):
    """``(x - centre) / spread``: parameters at the scale on which a round's parameters vary."""

    centre: Float[Array, " c"]
    spread: Float[Array, " c"]

    @eqx.filter_jit
    def __call__(self, x: Float[Array, "*batch c"]) -> Float[Array, "*batch c"]:
        """Centred and scaled parameters."""
        return _standardised(x, self.centre, self.spread)


def fit_standardise(rows: Float[np.ndarray, "K c"]) -> Standardise:
    """What gives a round's parameters the mean zero and the spread one."""
    spread = np.std(rows, axis=0)
    return Standardise(
        jnp.asarray(np.mean(rows, axis=0)), jnp.asarray(np.where(spread > 0, spread, 1.0))
    )


def _standardised(
    x: Float[Array | np.ndarray, "*batch d"], centre: Float[Array, " d"], spread: Float[Array, " d"]
) -> Float[Array, "*batch d"]:
    batch = range(x.ndim - 1)
    return (jnp.asarray(x) - jnp.expand_dims(centre, batch)) / jnp.expand_dims(spread, batch)
