"""Samples by name -> the columns of a table, for pictures and summaries."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float


def as_columns(samples: Any) -> tuple[list[str], Float[np.ndarray, "n columns"]]:
    """Samples as a table in which a vector ``theta`` gives ``theta[0]``, ``theta[1]``, ...

    The same table as ``pliant.space.flatten_columns``, for samples that stand alone.

    Args:
        samples: Name to ``(n, *shape)``; or one such array, which is called ``theta``.

    Raises:
        ValueError: If there are no samples, or not the same number of each parameter.
    """
    named = samples if isinstance(samples, Mapping) else {"theta": samples}
    arrays = {name: np.asarray(array, np.float64) for name, array in named.items()}
    lengths = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
    if not arrays or len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ValueError(
            f"samples: expected arrays (n, *shape) with one n of at least 1, got n = {lengths}."
        )
    labels = [
        f"{name}[{','.join(map(str, index))}]" if index else name
        for name, array in arrays.items()
        for index in np.ndindex(array.shape[1:])
    ]
    blocks = [array.reshape(len(array), -1) for array in arrays.values()]
    return labels, np.concatenate(blocks, axis=1)
