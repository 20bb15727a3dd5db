"""Parameters in blocks of a fixed size: bounded memory, and results that no batch can change."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree, Shaped


def map_blocks(
    function: Callable[..., PyTree[Array]],
    *arrays: Shaped[Array, "K ..."],
    block: int,
) -> PyTree[Shaped[Array, "K ..."]]:
    """Apply a function of whole blocks to the leading axis, one block after the other.

    The last block is padded with zeros and every block runs the same program: the result
    for one element does not depend on how many others there are, nor on its place among them.

    Args:
        function: Maps arrays with a leading axis of length ``block`` to others, each element on
            its own.
        arrays: Their leading axes have the same length.
        block: The elements in a block.
    """
    K = arrays[0].shape[0]
    blocks = tuple(
        jnp.pad(a, ((0, -K % block), *([(0, 0)] * (a.ndim - 1)))).reshape(-1, block, *a.shape[1:])
        for a in arrays
    )
    # The barrier keeps XLA from fusing what made the arrays into a block, and rounding differently.
    results = lax.map(lambda b: function(*lax.optimization_barrier(b)), blocks)
    return jax.tree.map(lambda r: r.reshape(-1, *r.shape[2:])[:K], results)


def sum_in_order(start: Float[Array, "..."], values: Float[Array, "... d"]) -> Float[Array, "..."]:
    """``start`` plus the values of the last axis, from the first to the last.

    XLA adds the values of a short axis in an order that depends on how many sums it makes, and
    so on the number of elements that a device gets.
    """
    return lax.fori_loop(0, values.shape[-1], lambda i, total: total + values[..., i], start)
