"""Simulators written in JAX: vmapped over parameters and draws, and compiled."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from pliant._checks import error_text
from pliant._devices import share_out
from pliant.simulators.base import AbstractSimulator, Sets, Under, function_name
from pliant.simulators.layout import Layout, layout_of


class JaxSimulator(AbstractSimulator):
    """A JAX function ``f(key, theta) -> x`` that makes one draw.

    Args:
        function: The function; ``f(key, theta, condition) -> x`` if there are conditions.
        conditions: Arrays ``(N, ...)``, or a dict of them; None for no conditions.
        gaps: Whether NaN in a draw stands for a value that was not measured.
        layout: The structure of a draw; None for a single array of any shape.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    conditions: PyTree = None
    gaps: bool = eqx.field(static=True, default=False)
    layout: Layout | None = eqx.field(static=True, default=None)

    @property
    def label(self) -> str:
        """The name of the function."""
        return f"JAX function {function_name(self.function)}"

    @property
    def compiled(self) -> bool:
        """True: each batch size is compiled once."""
        return True

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """Trace the function once, without running it."""
        one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), self.conditions)
        given = () if self.conditions is None else (one,)
        call = f"simulator(key, theta{', condition' if given else ''})"
        try:
            x = jax.eval_shape(self.function, jax.random.key(0), theta, *given)
        except Exception as error:
            if isinstance(error, KeyError) and isinstance(theta, Mapping):
                names = f" The names in the prior are {', '.join(map(str, theta))}."
            else:
                names = ""
            reason = error_text(error).rstrip(".")
            if not given and "missing 1 required positional argument" in reason:
                names += " If the third argument is a condition, pass Problem(..., conditions=...)."
            raise TypeError(
                f"simulator: JAX could not trace {call}. {reason}.{names} "
                "Expected a function of a jax.random key and one parameter in the prior's "
                f"structure{_more(given)}, written with jax.numpy (no NumPy calls, no `if` on "
                "values). Wrap a function that uses NumPy: pliant.PythonSimulator(function), "
                f"called as function(rng, theta{', condition' if given else ''})."
            ) from error
        return self._checked(x)

    def _checked(self, x: Any) -> tuple[int, ...]:
        """The shape of what the function returns.

        Raises:
            TypeError: If that is not what was expected.
        """
        leaves = list(x.values()) if isinstance(x, Mapping) else [x]
        if not all(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
            raise TypeError(
                "simulator: expected it to return one array, or a dict of arrays if the "
                f"observations are one, got {type(x).__name__}."
            )
        for leaf in leaves:
            real = jnp.issubdtype(leaf.dtype, jnp.number) or leaf.dtype == bool
            if not real or jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise TypeError(f"simulator: expected it to return real numbers, got {leaf.dtype}.")
        layout = self.layout
        if layout is None or (layout.names is None and not isinstance(x, Mapping)):
            return layout_of(x, lead=0).event
        try:
            return jax.eval_shape(lambda value: layout.joined(value, xp=jnp), x).shape
        except ValueError as error:
            raise TypeError(f"simulator: {error}, unlike the observations.") from None

    @eqx.filter_jit
    def simulate(self, keys: Key[Array, " K"], thetas: PyTree, n: int, under: Under = None) -> Sets:
        """Draw ``n`` observations for each parameter; a draw that is not finite is unusable."""

        def draw(key: Any, theta: PyTree, index: Array, under: Any, conditions: PyTree) -> Any:
            given = () if under is None else (jax.tree.map(lambda a: a[under], conditions),)
            x = self.function(jax.random.fold_in(key, index), theta, *given)
            joined = x if self.layout is None else self.layout.joined(x, xp=jnp)
            x = jnp.asarray(joined, float)
            ok = jnp.all(jnp.isfinite(x) | (jnp.isnan(x) if self.gaps else False))
            return jnp.where(ok, x, 0.0), ok

        def sets(mapped: PyTree, common: tuple[Array, PyTree]) -> PyTree:
            keys, thetas, under = mapped
            indices, conditions = common
            own = None if under is None else 0
            over_draws = jax.vmap(draw, in_axes=(None, None, 0, own, None))
            over_parameters = jax.vmap(over_draws, in_axes=(0, 0, None, own, None))
            return over_parameters(keys, thetas, indices, under, conditions)

        conditions = None if under is None else jax.tree.map(jnp.asarray, self.conditions)
        return share_out(sets, (keys, thetas, under), (jnp.arange(n), conditions))


def _more(given: tuple[Any, ...]) -> str:
    return ", and of one condition" if given else ""
