"""The squared 2-Wasserstein distance of two samples."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pliant.discrepancies.wasserstein import sinkhorn_plan
from pliant.problem.samples import centred_pair, thinned

MOST_EXACT = 2000
"""Up to this many points per sample the plan is exact."""

MOST_POINTS = 10_000
"""Larger samples are thinned evenly to this many points."""

REGULARISATION = 0.005
"""Regularisation of entropic plans, relative to the mean squared distance within samples."""


def squared_wasserstein(x: Any, y: Any) -> float:
    r""":math:`\mathcal{W}_2^2` of two samples.

    Up to 2000 points per sample it is exact, by linear programming (needs ``pliant[bench]``).
    Above, it is the debiased cost of an entropic plan. Measured for two samples of one Gaussian
    with 2000 points each, in 2, 5 and 10 dimensions: 0.0212, 0.623 and 3.669, where 0.0228, 0.608
    and 3.648 is exact. Without debiasing, the first is 0.0389.

    Two samples of the same distribution have a positive distance, which grows with the
    dimension: compare with that distance for samples of the same sizes.

    Args:
        x: ``(n, d)``.
        y: ``(m, d)``; the reference, if there is one.
    """
    x, y = centred_pair(x, y)
    exact = max(len(x), len(y)) <= MOST_EXACT
    return exact_squared_wasserstein(x, y) if exact else entropic_squared_wasserstein(x, y)


def exact_squared_wasserstein(x: Any, y: Any) -> float:
    """The cost of the optimal plan. Needs memory for a few times ``n m`` numbers.

    Raises:
        ImportError: If POT is not installed.
    """
    try:
        import ot
    except ImportError as error:
        raise ImportError(
            "The exact Wasserstein distance needs POT: pip install 'pliant[bench]'."
        ) from error
    x, y = centred_pair(x, y)
    squared = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T
    cost: Any = ot.emd2([], [], np.maximum(squared, 0), numItermax=10_000_000)
    return float(cost)


def entropic_squared_wasserstein(
    x: Any, y: Any, *, regularisation: float = REGULARISATION
) -> float:
    """The debiased cost of the entropic plan, by Sinkhorn iterations in single precision.

    An entropic plan has a positive cost even from a sample to itself; half of it is subtracted
    for each sample. Two samples of 10,000 points take half a minute and 1.2 GB.

    Args:
        x: ``(n, d)``; more than 10,000 points are thinned.
        y: ``(m, d)``; likewise.
        regularisation: Relative to the mean squared distance within the samples.
    """
    x, y = (thinned(sample, MOST_POINTS) for sample in centred_pair(x, y))
    shift = x.mean(axis=0) - y.mean(axis=0)
    a, b = (jnp.asarray(sample - sample.mean(axis=0), float) for sample in (x, y))
    spread = float(jnp.square(a).sum() / len(a) + jnp.square(b).sum() / len(b))
    epsilon = regularisation * spread if spread > 0 else 1.0  # two points have only one plan
    plans = [_plan_cost(*pair, epsilon) for pair in ((a, b), (a, a), (b, b))]
    if not all(converged for _, converged in plans):
        warnings.warn(
            "An entropic plan did not converge, so its cost is approximate. Compare fewer points: "
            f"up to {MOST_EXACT} per sample the distance is exact.",
            stacklevel=2,
        )
    across, within_x, within_y = (float(cost) for cost, _ in plans)
    return float(shift @ shift) + across - (within_x + within_y) / 2


@jax.jit
def _plan_cost(
    x: Float[Array, "n d"], y: Float[Array, "m d"], epsilon: float | Float[Array, ""]
) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """The cost of the plan with a regularisation in squared units, and whether it converged."""
    squared = jnp.square(x).sum(1)[:, None] + jnp.square(y).sum(1)[None] - 2 * x @ y.T
    costs = jnp.maximum(squared, 0) / epsilon
    weights = jnp.full(len(x), 1 / len(x))
    plan, converged = sinkhorn_plan(costs, weights, tolerance=1e-3, max_iterations=5000)
    return epsilon * jnp.vdot(plan.ravel(), costs.ravel()), converged
