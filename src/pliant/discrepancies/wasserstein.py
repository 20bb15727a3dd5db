"""The squared 2-Wasserstein distance, by entropic optimal transport."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from pliant._checks import check_integer, check_real
from pliant.discrepancies.base import Mask, Sets
from pliant.discrepancies.blocks import map_blocks, sum_in_order
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, Distances
from pliant.problem.scale import as_divisors, as_rows, check_same_features

_ITERATIONS_PER_ABSORPTION = 10
"""Products with one Gibbs kernel before the scalings move into the potentials."""

_MAX_LOG_SCALING = 40.0
"""Logarithms of scalings and of kernel entries stay below this, so that float32 holds a product
of two of them."""

_HOTTEST, _COOLING, _COLDEST = 0.02, 0.5, 1e-4
"""Annealing starts at this part of the largest cost, cools by this factor at each absorption, and
never passes the last part of the largest cost: float32 resolves no more."""

_BLOCK_PAIRS = 2**13
"""Pairs in one block. Sets that large are solved one by one: each stops when it has converged."""


class WassersteinState(eqx.Module):
    """What Wasserstein computes once from the observations."""

    observed: Float[Array, "N d"]
    """The observations, flattened, scaled, and centred at their mean."""

    centre: Float[Array, " d"]
    """The mean of the observations."""

    epsilon: Float[Array, ""]
    """The regularisation, in squared units of the features."""


class Wasserstein(AbstractMeasuredDiscrepancy):
    r"""Squared 2-Wasserstein distance by entropic optimal transport (Cuturi, 2013).

    The transport cost :math:`\langle P, C \rangle`, with
    :math:`C_{ij} = \lVert x_i - y_j \rVert^2`, of the plan

    .. math::
        P = \arg\min_{P \in U(1/M, 1/N)} \langle P, C \rangle
            + \varepsilon \sum_{ij} P_{ij} (\log P_{ij} - 1),

    found by Sinkhorn iterations. It is the cost of a real plan, so it is no less than the exact
    :math:`\mathcal{W}_2^2` (to the tolerance), and tends to it with the regularisation. The
    objective with its entropy is not reported: it can be negative, and it depends on M and N.

    :math:`\varepsilon` is ``regularisation`` times the mean squared distance between different
    observations. It is the same for all parameters: one that followed the simulated sets would
    rank parameters by their own blur. Where the observations have no spread, as one alone, every
    plan costs the same and :math:`\varepsilon = 1`.

    Both sets are centred at their means before the plan is sought, which changes no plan, and the
    squared distance of the means is added to its cost. Iterations are products with the Gibbs
    kernel; every ten, the scalings move into the potentials, so float32 neither overflows nor
    underflows. Sets that spread far beyond the observed start with a larger
    :math:`\varepsilon`, which is then halved down to the one wanted, or to 1e-4 of the largest cost
    if that is more: a blur that their distance outweighs by far. Each temperature starts from the
    potentials of the last. Those of other sets are no better start than none: 31.8 iterations on
    average from either on SLCP, 26.9 and 26.8 on Gaussian location, 59.9 and 59.8 on SIR (N = 100,
    posterior draws). Memory is that of a few M x N matrices.

    Attributes:
        regularisation: :math:`\varepsilon` relative to the observations' mean squared distance.
        tolerance: The largest error of a plan's marginals, as the sum of absolute differences.
            In float32, less than about 1e-5 is out of reach.
        max_iterations: The most Sinkhorn iterations for a set. Plans that miss the tolerance by
            then are used as they are; the history counts them as ``unconverged``.
        scale: Positive divisors for the features of the flattened event; None leaves them raw.
    """

    regularisation: float = eqx.field(default=0.05, kw_only=True, static=True)
    tolerance: float = eqx.field(default=1e-3, kw_only=True, static=True)
    max_iterations: int = eqx.field(default=2000, kw_only=True, static=True)
    scale: Float[Array, " d"] | None = eqx.field(default=None, kw_only=True, converter=as_divisors)

    min_draws: ClassVar[int] = 1

    def __check_init__(self):
        check_real("regularisation", self.regularisation, above=1e-6)  # less: no single precision
        check_real("tolerance", self.tolerance, above=0)
        check_integer("max_iterations", self.max_iterations, at_least=1)

    def numbers_per_draw(self, n_features: int, n_obs: int) -> float:
        """Costs, kernels and plan; draws of many features take some numbers more."""
        return 5 * n_obs + n_features

    @eqx.filter_jit
    def prepare(self, observed: Float[Array, "N *event"]) -> WassersteinState:
        """Centre the observations, and fix the regularisation by their spread."""
        points = as_rows(observed, 1, self.scale)
        centre = points.mean(0)
        centred = points - centre[None]
        # The mean of |y_i - y_j|^2 over i != j is twice the sum of the features' variances.
        spread = 2 * jnp.square(centred).sum() / max(1, points.shape[0] - 1)
        epsilon = jnp.where(spread > 0, self.regularisation * spread, 1)
        return WassersteinState(centred, centre, epsilon)

    @eqx.filter_jit
    def measure(self, prepared: WassersteinState, x: Sets, ok: Mask) -> Distances:
        """Transport costs of ``K`` sets, and which plans did not converge; see the base class."""
        rows = as_rows(x, 2, self.scale)
        check_same_features(rows, prepared.observed)

        def cost(rows, ok):
            weights = ok / jnp.maximum(ok.sum(), 1)
            rows = jnp.where(ok[:, None], rows - prepared.centre[None], 0)
            shift = weights @ rows
            rows = jnp.where(ok[:, None], rows - shift[None], 0)
            costs = _squared_distances(rows, prepared.observed) / prepared.epsilon
            plan, converged = sinkhorn_plan(
                costs, weights, tolerance=self.tolerance, max_iterations=self.max_iterations
            )
            # As one long dot product, which is fast and rounds little.
            moved = jnp.vdot(plan.ravel(), costs.ravel())
            return sum_in_order(prepared.epsilon * moved, jnp.square(shift)), converged

        block = max(1, _BLOCK_PAIRS // (rows.shape[1] * prepared.observed.shape[0]))
        distances, converged = map_blocks(jax.vmap(cost), rows, ok, block=block)
        usable = ok.any(1)
        return jnp.where(usable, distances, jnp.inf), {"unconverged": usable & ~converged}


def sinkhorn_plan(
    costs: Float[Array, "M N"],
    weights: Float[Array, " M"],
    *,
    tolerance: float,
    max_iterations: int,
) -> tuple[Float[Array, "M N"], Bool[Array, ""]]:
    r"""The plan :math:`P_{ij} = \exp((f_i + g_j - C_{ij}) / t)` with the given marginals.

    Args:
        costs: The costs, in units of the regularisation, so that the last temperature t is one,
            or 1e-4 of the largest cost if that is more.
        weights: The marginal of the rows, which sums to one; zero for a row that does not count.
            That of the columns is uniform.
        tolerance: Stop when the rows' marginal is met to this sum of absolute errors; that of the
            columns is met exactly.
        max_iterations: Stop after this many iterations, rounded up to a multiple of ten.

    Returns:
        The plan, and whether it meets the tolerance.
    """
    counts = weights > 0
    column_weight = 1 / costs.shape[1]
    largest_cost = costs.max()
    coldest = jnp.maximum(1, _COLDEST * largest_cost)
    bound = jnp.exp(jnp.asarray(_MAX_LOG_SCALING, costs.dtype))

    def gibbs(f, g, temperature):
        exponents = (f[:, None] + g[None] - costs) / temperature
        kernel = jnp.exp(jnp.minimum(exponents, _MAX_LOG_SCALING))
        return jnp.where(counts[:, None], kernel, 0)

    def bounded(sums):
        return jnp.clip(sums, 1 / bound, bound)

    def absorb(carry):
        f, g, temperature, kernel, _, iterations = carry

        def iterate(_, scalings):
            _, v = scalings
            u = weights / bounded(kernel @ v)
            return u, column_weight / bounded(u @ kernel)

        ones = jnp.ones_like(f), jnp.ones_like(g)
        u, v = lax.fori_loop(0, _ITERATIONS_PER_ABSORPTION, iterate, ones)
        f = f + temperature * jnp.log(jnp.where(counts, u, 1))
        g = g + temperature * jnp.log(v)
        cooled = jnp.maximum(_COOLING * temperature, coldest)
        kernel = gibbs(f, g, cooled)
        error = jnp.abs(kernel @ jnp.ones_like(g) - weights).sum()
        # Potentials of a higher temperature meet neither marginal.
        error = jnp.where(cooled < temperature, jnp.inf, error)
        return f, g, cooled, kernel, error, iterations + _ITERATIONS_PER_ABSORPTION

    def unfinished(carry):
        *_, error, iterations = carry
        return ~(error <= tolerance) & (iterations < max_iterations)

    # With these potentials, the largest entry in every row and column of the kernel is one.
    f = costs.min(1)
    g = jnp.where(counts[:, None], costs - f[:, None], largest_cost).min(0)
    hottest = jnp.maximum(coldest, _HOTTEST * largest_cost)
    error = jnp.asarray(jnp.inf, costs.dtype)
    start = (f, g, hottest, gibbs(f, g, hottest), error, 0)
    _, _, _, plan, error, _ = lax.while_loop(unfinished, absorb, start)
    return plan, error <= tolerance


def _squared_distances(x: Float[Array, "M d"], y: Float[Array, "N d"]) -> Float[Array, "M N"]:
    squared = jnp.square(x).sum(1)[:, None] + jnp.square(y).sum(1)[None] - 2 * x @ y.T
    return jnp.maximum(squared, 0)
