"""The squared maximum mean discrepancy with a sum of Gaussian kernels."""

from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from pliant._checks import check_integer
from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.lengthscales import (
    as_lengthscales,
    median_lengthscale,
)
from pliant.discrepancies.measured import AbstractWeighableDiscrepancy, Distances
from pliant.discrepancies.pairs import (
    ObservedPairs,
    observation_means,
    observed_pairs,
    pair_numbers,
    u_statistic,
)
from pliant.discrepancies.random_features import RandomFeatureMMD
from pliant.problem.scale import as_divisors, as_rows, check_same_features

# The paper's eleven lengthscales are mostly long, where a kernel sees little but the mean. Four
# short ones see covariances too (SLCP, N = 100: the correlation's spread is 2.4 instead of
# 3.2 times the exact one), and two long ones reach parameters that are far off.
LENGTHSCALES = (2.0, 4.0, 8.0, 16.0, 128.0, 1024.0)


def product_plan(
    lengthscales: tuple[float, ...], *, max_growth: float = 128.0
) -> list[tuple[int, tuple[int, int] | None]]:
    """Find which Gaussian kernels are products of two others: few need an exponential.

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
        most_partners: A draw meets ``M / 2 + N`` others; where these are more than this, PLI and
            the samplers use ``RandomFeatureMMD``, whose cost does not grow with them. None
            never does.
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    lengthscales: tuple[float, ...] | Literal["median"] = eqx.field(
        default=LENGTHSCALES, kw_only=True, static=True, converter=as_lengthscales
    )
    most_partners: int | None = eqx.field(default=400, kw_only=True, static=True)
    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 2

    def __check_init__(self):
        if self.most_partners is not None:
            check_integer("most_partners", self.most_partners, at_least=1)

    def for_sizes(self, n_draws: int, n_obs: int) -> AbstractWeighableDiscrepancy:
        """The same up to ``most_partners``, random features above."""
        if self.most_partners is None or n_draws / 2 + n_obs <= self.most_partners:
            return self
        return RandomFeatureMMD(lengthscales=self.lengthscales, scale=self.scale)

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """Those of the sums over pairs."""
        return pair_numbers(n_features, n_obs)

    def prepare(self, observed: Float[Array, "N *event"]) -> MMDState:
        """Average the kernel over the pairs of observations.

        Raises:
            ValueError: If ``scale`` does not fit the event, or if the median of the squared
                distances is asked for and is zero. (Inside ``jax.jit``, the latter is an
                ``EqxRuntimeError`` at run time.)
        """
        points = as_rows(observed, 1, self.scale)
        lengthscale = median_lengthscale(points) if self.lengthscales == "median" else None
        return self._average(points, lengthscale)

    @eqx.filter_jit
    def _average(self, points: Float[Array, "N d"], lengthscale: Array | None) -> MMDState:
        return MMDState(observed_pairs(self._kernel(lengthscale), points), lengthscale)

    @eqx.filter_jit
    def measure(self, prepared: MMDState, x: Sets, ok: Mask) -> Distances:
        """Squared MMD of ``K`` simulated sets to the observed set; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.observed.points)
        return u_statistic(self._kernel(prepared.lengthscale), prepared.observed, rows, ok), {}

    @eqx.filter_jit
    def influences(self, prepared: MMDState, x: Sets, ok: Mask) -> Float[Array, "K N"]:
        """Minus twice the mean kernel of an observation with a set's draws; see the base class."""
        rows = as_rows(x, 2, self.scale)
        kernel = self._kernel(prepared.lengthscale)
        return -2 * observation_means(kernel, prepared.observed, rows, ok)

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
