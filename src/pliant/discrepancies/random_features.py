"""MMD in linear time: kernels as inner products of random features."""

import functools
import math
from collections.abc import Callable
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pliant._checks import check_integer, check_seed
from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.blocks import map_blocks
from pliant.discrepancies.lengthscales import (
    PAPER_LENGTHSCALES,
    as_lengthscales,
    median_lengthscale,
)
from pliant.discrepancies.measured import AbstractWeighableDiscrepancy, Distances
from pliant.problem.scale import as_divisors, as_rows, check_same_features

_BLOCK_VALUES = 2**18
"""Features in one block."""

# Series in x^2 of sin(pi x) / x and cos(pi x), for |x| <= 1/2.
_SINE = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(6)]
_COSINE = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(7)]


class RandomFeatureState(eqx.Module):
    """What RandomFeatureMMD computes once from the observations."""

    centre: Float[Array, " d"]
    """The mean of the observations: phases stay small, and with them their rounding."""
    frequencies: Float[Array, "d F"]
    """The same for all parameters and rounds."""
    weights: Float[Array, " F"]
    """Features of one lengthscale share a weight of one."""
    waves: Float[Array, "N W"]
    """Cosines and sines of the observations."""


class RandomFeatureMMD(AbstractWeighableDiscrepancy):
    r"""Squared maximum mean discrepancy with a kernel of random features (Rahimi and Recht, 2007).

    The kernel of ``MMD`` is the mean of ``cos(w (x - y))`` over normal frequencies ``w`` of the
    variance ``1 / l``. With F of them, drawn once, a distance costs ``(M + N) F`` operations
    instead of ``M N``, and is still without bias for their kernel: with mean features m,

    .. math::
        \lVert m_x - m_y \rVert^2 - \frac{L - \lVert m_x \rVert^2}{M - 1}
        - \frac{L - \lVert m_y \rVert^2}{N - 1}, \qquad L = k(x, x).

    The frequencies are the same for all parameters and add no noise between these: they
    make another, slightly different kernel. By Hoeffding's inequality, a kernel of one lengthscale
    and F features is off by more than ``sqrt(2 log(2 / p) / F)`` at a given pair with a probability
    below p: by 0.17 for F = 256 and p = 0.05.

    Attributes:
        n_features: F, all lengthscales together.
        lengthscales: As for ``MMD``.
        seed: From which the frequencies are drawn.
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    n_features: int = eqx.field(default=512, kw_only=True, static=True)
    lengthscales: tuple[float, ...] | Literal["median"] = eqx.field(
        default=PAPER_LENGTHSCALES, kw_only=True, static=True, converter=as_lengthscales
    )
    seed: int = eqx.field(default=0, kw_only=True, static=True)
    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 2

    def __check_init__(self):
        check_integer("n_features", self.n_features, at_least=1)
        check_seed("seed", self.seed)
        if self.lengthscales != "median" and self.n_features < len(self.lengthscales):
            raise ValueError(
                f"n_features: expected at least one for each of the {len(self.lengthscales)} "
                f"lengthscales, got {self.n_features}."
            )

    @property
    def columns(self) -> dict[str, float]:
        """The history shows that random features are at work, and how many."""
        return {"features": self.n_features}

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """Phases, cosines and sines."""
        return 3 * self.n_features

    def prepare(self, observed: Float[Array, "N *event"]) -> RandomFeatureState:
        """Draw the frequencies, and compute the observations' features."""
        points = as_rows(observed, 1, self.scale)
        values = self.lengthscales
        if values == "median":
            values = (median_lengthscale(points),)
        return self._prepare(points, jnp.stack([jnp.asarray(v, points.dtype) for v in values]))

    @eqx.filter_jit
    def _prepare(self, points: Float[Array, "N d"], lengthscales: Array) -> RandomFeatureState:
        own = np.arange(self.n_features) % len(lengthscales)
        weights = 1 / np.bincount(own)[own]
        normal = jax.random.normal(jax.random.key(self.seed), (points.shape[1], self.n_features))
        frequencies = (normal / jnp.sqrt(lengthscales[own])[None]).astype(points.dtype)
        centre = points.mean(0)
        return RandomFeatureState(
            centre=centre,
            frequencies=frequencies,
            weights=jnp.asarray(weights, points.dtype),
            waves=jnp.concatenate(_waves(points - centre[None], frequencies), axis=-1),
        )

    @eqx.filter_jit
    def measure(self, prepared: RandomFeatureState, x: Sets, ok: Mask) -> Distances:
        """Squared MMD of ``K`` simulated sets to the observed set; see the base class."""
        weights = jnp.tile(prepared.weights, 2)
        mean_y, own = prepared.waves.mean(0), prepared.weights.sum()
        N = prepared.waves.shape[0]

        def squared(m):
            own_weights = jnp.expand_dims(weights, range(m.ndim - 1))
            return jnp.sum(jnp.square(m) * own_weights, axis=-1)

        excess_y = (own - squared(mean_y)) / (N - 1) if N > 1 else 0.0

        def distances(rows, ok):
            m, n = _mean_waves(prepared, rows, ok)
            excess_x = (own - squared(m)) / (n - 1)
            return jnp.where(n >= 2, squared(m - mean_y[None]) - excess_x - excess_y, jnp.inf)

        return self._map(distances, prepared, x, ok), {}

    @eqx.filter_jit
    def influences(self, prepared: RandomFeatureState, x: Sets, ok: Mask) -> Float[Array, "K N"]:
        """Minus twice the mean kernel of an observation with a set's draws; see the base class."""
        means = self._map(lambda rows, ok: _mean_waves(prepared, rows, ok)[0], prepared, x, ok)
        return -2 * (means * jnp.tile(prepared.weights, 2)[None]) @ prepared.waves.T

    def _map(
        self,
        function: Callable[..., Array],
        prepared: RandomFeatureState,
        x: Sets,
        ok: Mask,
    ) -> Array:
        """A function of sets, some at a time."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.centre[None])
        block = max(1, _BLOCK_VALUES // (rows.shape[1] * self.n_features))
        return map_blocks(function, rows, ok, block=block)


def _mean_waves(
    state: RandomFeatureState, rows: Float[Array, "B M d"], ok: Bool[Array, "B M"]
) -> tuple[Float[Array, "B W"], Float[Array, " B"]]:
    """The mean features of every set's usable draws, and how many there are."""
    waves = _waves(jnp.where(ok[..., None], rows - state.centre[None, None], 0), state.frequencies)
    n = ok.sum(1).astype(rows.dtype)
    shares = ok / jnp.maximum(n, 1)[:, None]
    return jnp.concatenate([jnp.einsum("bm,bmf->bf", shares, w) for w in waves], axis=-1), n


def _waves(
    rows: Float[Array, "*batch d"], frequencies: Float[Array, "d F"]
) -> tuple[Float[Array, "*batch F"], Float[Array, "*batch F"]]:
    """Cosines and sines of the phases ``rows @ frequencies``.

    Of a phase in turns, ``part`` is what is left of a whole number. Sine and cosine of half of its
    angle, pi ``part``, come from their series, and the double angle's from them.
    XLA's own functions, which are exact for any phase, make a distance take ten times as long on a
    CPU. Those of phases below a hundred are within 1e-5.
    """
    turns = rows @ (frequencies / (2 * math.pi))
    part = turns - jnp.round(turns)
    squared = part * part
    sine = part * _polynomial(_SINE, squared)
    return 1 - 2 * sine * sine, 2 * sine * _polynomial(_COSINE, squared)


def _polynomial(coefficients: list[float], x: Array) -> Array:
    return functools.reduce(lambda value, c: value * x + c, coefficients[::-1], jnp.zeros_like(x))
