"""The squared maximum mean discrepancy with a sum of Gaussian kernels."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Key, PyTree

from pliant.checks import check_real
from pliant.discrepancies.base import AbstractWeighableDiscrepancy
from pliant.discrepancies.pairs import (
    ObservedPairs,
    observation_means,
    observed_pairs,
    u_statistic,
)
from pliant.discrepancies.scaling import as_divisors, as_rows, check_same_features

PAPER_LENGTHSCALES = (1.0, 10.0, 20.0, 40.0, 80.0, 100.0, 130.0, 200.0, 400.0, 800.0, 1000.0)
"""The lengthscales of the paper's appendix, from Dellaporta et al. (2022)."""

_MEDIAN_OBSERVATIONS = 2000
"""More observations than this are thinned evenly before the median of their distances."""


def product_plan(
    lengthscales: tuple[float, ...], *, max_growth: float = 128.0
) -> list[tuple[int, tuple[int, int] | None]]:
    """Find which Gaussian kernels are products of two others, so that few need an exponential.

    ``exp(-D / 2a) exp(-D / 2b) = exp(-D / 2c)`` where ``1/a + 1/b = 1/c``. Rounding errors add up
    in a product: an exponential counts as one unit, a product as the sum of its factors and half
    a unit of its own.

    Args:
        lengthscales: The kernels wanted.
        max_growth: The most units of rounding error that a product may carry.

    Returns:
        Steps, in an order in which they can be computed: the index of a lengthscale, with those
        of its two factors, or None for an exponential. The paper's eleven need four exponentials.
    """
    steps: list[tuple[int, tuple[int, int] | None]] = []
    growth: dict[int, float] = {}
    for i in sorted(range(len(lengthscales)), key=lambda i: -lengthscales[i]):
        products = [
            (growth[a] + growth[b] + 0.5, (a, b))
            for a in growth
            for b in growth
            if a <= b
            and abs(lengthscales[i] * (1 / lengthscales[a] + 1 / lengthscales[b]) - 1) < 1e-12
        ]
        least, factors = min(products, default=(1.0, None))
        if least > max_growth:
            least, factors = 1.0, None
        growth[i] = least
        steps.append((i, factors))
    return steps


class MMDState(eqx.Module):
    """What MMD computes once from the observations."""

    observed: ObservedPairs
    lengthscale: Float[Array, ""] | None
    """The median of the squared distances, if the lengthscale is to be that."""


class MMD(AbstractWeighableDiscrepancy):
    r"""Squared maximum mean discrepancy, as in the paper's appendix (Gretton et al., 2012).

    The unbiased U-statistic of ``N`` observations and ``M`` draws,

    .. math::
        \frac{1}{N(N-1)} \sum_{i \neq j} k(y_i, y_j) - \frac{2}{NM} \sum_{i, j} k(y_i, x_j)
        + \frac{1}{M(M-1)} \sum_{i \neq j} k(x_i, x_j), \quad
        k(x, y) = \sum_\ell \exp\left(-\frac{\lVert x - y \rVert^2}{2 \ell}\right),

    which is negative at times, because it is zero on average where the distributions agree. The
    first term does not depend on the parameters. A single observation has no pairs: the first term
    is then ``k(y, y)``, the number of lengthscales.

    Attributes:
        lengthscales: The positive ``l`` in the kernel, in squared units of the features; or
            ``"median"`` for one kernel whose ``l`` is the median of the squared distances between
            observations (of 2000 evenly thinned ones, if there are more).
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    lengthscales: tuple[float, ...] | Literal["median"] = eqx.field(
        default=PAPER_LENGTHSCALES, kw_only=True, static=True, converter=lambda v: _as_tuple(v)
    )
    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 2

    def prepare(self, observed: Float[Array, "N *event"]) -> MMDState:
        """Average the kernel over the pairs of observations.

        Raises:
            ValueError: If ``scale`` does not fit the event, or if the median of the squared
                distances is asked for and is zero. (Inside ``jax.jit``, the latter is an
                ``EqxRuntimeError`` at run time.)
        """
        points = as_rows(observed, 1, self.scale)
        lengthscale = _median_lengthscale(points) if self.lengthscales == "median" else None
        return self._average(points, lengthscale)

    @eqx.filter_jit
    def _average(self, points: Float[Array, "N d"], lengthscale: Array | None) -> MMDState:
        return MMDState(observed_pairs(self._kernel(lengthscale), points), lengthscale)

    @eqx.filter_jit
    def measure(
        self,
        key: Key[Array, ""],
        state: MMDState,
        thetas: PyTree,
        x: Float[Array, "K M *event"],
        ok: Bool[Array, "K M"],
    ) -> tuple[Float[Array, " K"], MMDState]:
        """Squared MMD of ``K`` simulated sets to the observed set; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, state.observed.points)
        return u_statistic(self._kernel(state.lengthscale), state.observed, rows, ok), state

    @eqx.filter_jit
    def influences(
        self, state: MMDState, x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]
    ) -> Float[Array, "K N"]:
        """Minus twice the mean kernel of an observation with a set's draws; see the base class."""
        rows = as_rows(x, 2, self.scale)
        return -2 * observation_means(self._kernel(state.lengthscale), state.observed, rows, ok)

    def _kernel(self, median: Float[Array, ""] | None):
        if median is not None:
            return lambda squared: jnp.exp(squared * (-0.5 / median))
        assert self.lengthscales != "median"
        lengthscales, plan = self.lengthscales, product_plan(self.lengthscales)

        def kernel(squared: Array) -> Array:
            values: dict[int, Array] = {}
            for i, factors in plan:
                if factors is None:
                    value = jnp.exp(squared * (-0.5 / lengthscales[i]))
                    # XLA would rewrite exp(a) exp(b) as exp(a + b), an exponential more; this
                    # bound, the least normal float, stands between.
                    values[i] = jnp.maximum(value, jnp.finfo(value.dtype).tiny)
                else:
                    values[i] = values[factors[0]] * values[factors[1]]
            return sum(values.values(), start=jnp.zeros((), squared.dtype))

        return kernel


def _as_tuple(lengthscales: Any) -> tuple[float, ...] | Literal["median"]:
    if isinstance(lengthscales, str):
        if lengthscales == "median":
            return "median"
        raise ValueError(
            f"lengthscales: expected positive numbers or 'median', got {lengthscales!r}."
        )
    if not isinstance(lengthscales, Iterable):
        raise TypeError(
            f"lengthscales: expected several positive numbers or 'median', got {lengthscales!r}."
        )
    values = tuple(
        check_real(
            f"lengthscales[{i}]", getattr(v, "item", lambda v=v: v)(), above=1e-15, below=1e15
        )
        for i, v in enumerate(lengthscales)
    )
    if not values:
        raise ValueError("lengthscales: expected at least one positive number, got none.")
    return values


def _median_lengthscale(points: Float[Array, "N d"]) -> Float[Array, ""]:
    if points.shape[0] == 1:
        raise ValueError(
            "lengthscales: 'median' needs at least two observations, got one; give the "
            "lengthscales as numbers."
        )
    median = _median_squared_distance(points[:: -(-points.shape[0] // _MEDIAN_OBSERVATIONS)])
    message = (
        "lengthscales: 'median' needs observations that differ, but at least half of their pairs "
        "are equal; give the lengthscales as numbers."
    )
    if isinstance(median, Tracer):
        return eqx.error_if(median, ~(median > 0), message)
    if not median > 0:
        raise ValueError(message)
    return median


@eqx.filter_jit
def _median_squared_distance(points: Float[Array, "N d"]) -> Float[Array, ""]:
    N, d = points.shape

    def add(f, total):  # one feature at a time, so that memory does not grow with their number
        return total + jnp.square(points[:, None, f] - points[:, f])

    squared = jax.lax.fori_loop(0, d, add, jnp.zeros((N, N), points.dtype))
    return jnp.nanmedian(jnp.where(jnp.eye(N, dtype=bool), jnp.nan, squared))
