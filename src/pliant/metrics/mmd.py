"""The squared maximum mean discrepancy of two samples, in double precision."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.mmd import product_plan
from pliant.problem.samples import centred_pair

_BLOCK = 256
"""Points per block: the kernel values of two blocks fit into a core's cache."""


def squared_mmd(x: Any, y: Any, *, lengthscales: tuple[float, ...] = PAPER_LENGTHSCALES) -> float:
    r"""Unbiased :math:`\mathrm{MMD}^2` with the paper's kernel.

    The exact posterior of many observations is narrow, and the discrepancy of two samples is
    millions of times smaller than the kernel's values. The single precision of ``pliant.MMD``
    cannot resolve it. Two samples of 10,000 points take seconds; memory is constant.

    Args:
        x: ``(n, d)`` with n >= 2.
        y: ``(m, d)`` with m >= 2.
        lengthscales: The values of l > 0 in ``k(x, y) = sum_l exp(-|x - y|^2 / (2 l))``.

    Returns:
        The estimate; its mean is zero for equal distributions, so it can be negative.
    """
    x, y = centred_pair(x, y, at_least=2)
    n, m = len(x), len(y)
    across = sum(_kernel_sum(a, b, lengthscales) for a in _blocks(x) for b in _blocks(y))
    return float(
        _sum_within(x, lengthscales) / (n * (n - 1))
        + _sum_within(y, lengthscales) / (m * (m - 1))
        - 2 * across / (n * m)
    )


def _sum_within(x: Float[np.ndarray, "n d"], lengthscales: tuple[float, ...]) -> float:
    """The kernel's sum over ``i != j``; each pair of blocks is visited once."""
    blocks = list(_blocks(x))
    total = -len(x) * len(lengthscales)  # remove k(x_i, x_i), which the diagonal blocks contain
    for i, block in enumerate(blocks):
        total += _kernel_sum(block, block, lengthscales)
        total += 2 * sum(_kernel_sum(block, other, lengthscales) for other in blocks[i + 1 :])
    return total


def _blocks(x: Float[np.ndarray, "n d"]) -> Iterator[Float[np.ndarray, "b d"]]:
    return (x[start : start + _BLOCK] for start in range(0, len(x), _BLOCK))


def _kernel_sum(
    x: Float[np.ndarray, "b d"], y: Float[np.ndarray, "c d"], lengthscales: tuple[float, ...]
) -> float:
    squared = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T
    values: dict[int, np.ndarray] = {}
    for i, factors in product_plan(lengthscales):
        values[i] = (
            np.exp(squared * (-0.5 / lengthscales[i]))
            if factors is None
            else values[factors[0]] * values[factors[1]]
        )
    return sum(float(value.sum()) for value in values.values())
