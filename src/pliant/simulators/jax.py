"""Simulators written in JAX: vmapped over parameters and draws, and compiled."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from pliant._checks import error_text
from pliant._devices import share_out
from pliant.simulators.base import AbstractSimulator, Sets


class JaxSimulator(AbstractSimulator):
    """A JAX function ``f(key, theta) -> x`` that makes one draw."""

    function: Callable[[Any, Any], Any] = eqx.field(static=True)

    @property
    def compiled(self) -> bool:
        """True: each batch size is compiled once."""
        return True

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """Trace the function once, without running it."""
        try:
            x = jax.eval_shape(self.function, jax.random.key(0), theta)
        except Exception as error:
            if isinstance(error, KeyError) and isinstance(theta, Mapping):
                names = f" The names in the prior are {', '.join(map(str, theta))}."
            else:
                names = ""
            reason = error_text(error).rstrip(".")
            raise TypeError(
                f"simulator: JAX could not trace simulator(key, theta). {reason}.{names} "
                "Expected a function of a jax.random key and one parameter in the prior's "
                "structure, written with jax.numpy (no NumPy calls, no `if` on values). Wrap a "
                "function that uses NumPy: pliant.PythonSimulator(function), called as "
                "function(rng, theta)."
            ) from error
        if not isinstance(x, jax.ShapeDtypeStruct):
            raise TypeError(
                f"simulator: expected it to return one array, got {type(x).__name__}. "
                "Concatenate several outputs into one array."
            )
        if not jnp.issubdtype(x.dtype, jnp.number) or jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"simulator: expected it to return real numbers, got {x.dtype}.")
        return x.shape

    @eqx.filter_jit
    def simulate(self, keys: Key[Array, " K"], thetas: PyTree, n: int) -> Sets:
        """Draw ``n`` observations for each parameter; a draw that is not finite is unusable."""

        def draw(key: Key[Array, ""], theta: PyTree, index: Array) -> tuple[Array, Array]:
            x = jnp.asarray(self.function(jax.random.fold_in(key, index), theta), float)
            ok = jnp.all(jnp.isfinite(x))
            return jnp.where(ok, x, 0.0), ok

        def sets(mapped: tuple[Array, PyTree], indices: Array) -> PyTree:
            keys, thetas = mapped
            over_draws = jax.vmap(draw, in_axes=(None, None, 0))
            return jax.vmap(over_draws, in_axes=(0, 0, None))(keys, thetas, indices)

        return share_out(sets, (keys, thetas), jnp.arange(n))
