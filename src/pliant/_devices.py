"""Work distributed over JAX's devices, and compiled code cached on disk."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import PyTree

from pliant._files import cache_folder

_AXIS = "parameters"


def share_out(
    function: Callable[[PyTree, PyTree], PyTree], mapped: PyTree, common: PyTree
) -> PyTree:
    """``function(mapped, common)``, on every device for its own part of the parameters.

    To be called under ``jit``. Parameters are independent of each other, so the result does not
    depend on the number of devices; with one device it is a plain call.

    Args:
        function: Maps arrays with a leading axis of parameters, and others, to arrays with the
            same leading axis.
        mapped: Arrays whose leading axis is shared out; it is padded with its last element to a
            multiple of the number of devices.
        common: Arrays that every device gets.
    """
    devices = jax.local_devices()
    if len(devices) == 1:
        return function(mapped, common)
    size = jax.tree.leaves(mapped)[0].shape[0]
    rows = jnp.minimum(jnp.arange(size + -size % len(devices)), size - 1)
    shared = PartitionSpec(_AXIS)
    on_devices: Any = jax.shard_map(
        function,
        mesh=Mesh(np.array(devices), (_AXIS,)),
        in_specs=(shared, PartitionSpec()),
        out_specs=shared,
        check_vma=False,
    )
    results = on_devices(jax.tree.map(lambda leaf: leaf[rows], mapped), common)
    return jax.tree.map(lambda leaf: leaf[:size], results)


def keep_compiled_code() -> None:
    """Let JAX cache compiled code in Pliant's cache folder, unless another folder is set.

    A first run compiles for half a minute in all. Two hundred of its functions are small, but
    compiling those anew would take ten seconds in every process.
    """
    if not jax.config.values["jax_compilation_cache_dir"]:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.01)
