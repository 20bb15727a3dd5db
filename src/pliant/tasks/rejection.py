"""The loop of rejection sampling that exact references share."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

_LARGEST_BATCH = 200_000
_MOST_PROPOSALS = 50_000_000


def collect(
    propose: Callable[[int], Float[np.ndarray, "accepted dim"]], n: int
) -> Float[np.ndarray, "n dim"]:
    """Call ``propose(m)``, which returns the accepted ones of m proposals, until n are accepted.

    Raises:
        RuntimeError: If almost every proposal is rejected.
    """
    accepted: list[np.ndarray] = []
    found, tried, batch = 0, 0, n + 100
    while found < n:
        if tried >= _MOST_PROPOSALS:
            raise RuntimeError(
                f"The exact posterior could not be sampled: {found} of {n} samples after {tried} "
                "proposals. Are the observations possible under the prior?"
            )
        accepted.append(propose(batch))
        found, tried = found + len(accepted[-1]), tried + batch
        batch = min(int(1.1 * (n - found) * tried / (found + 1)) + 100, _LARGEST_BATCH)
    return np.concatenate(accepted)[:n]
