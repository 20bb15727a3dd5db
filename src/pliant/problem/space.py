"""The parameter space: the user's names and structure <-> flat, unconstrained, standardised z."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpyro.distributions import constraints
from numpyro.distributions.transforms import IdentityTransform, Transform, biject_to

from pliant._checks import check_numbers, shape_text


class Space(eqx.Module):
    """A bijection between parameters ``theta`` as the user writes them and vectors ``z``.

    ``theta`` is a dict of arrays (or one array, if the prior is one distribution) on its
    support; ``z = (u - loc) / scale`` is the standardised image ``u`` of numpyro's
    ``biject_to``. Methods take one parameter; ``jax.vmap`` them over many.
    """

    names: tuple[str, ...] | None = eqx.field(static=True)
    """One name for each entry of a dict prior; None if theta is a single array."""
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    """The shape of each entry of theta."""
    supports: tuple[constraints.Constraint, ...]
    loc: Float[Array, " dim"]
    scale: Float[Array, " dim"]

    def __check_init__(self):
        if not len(self.labels) == len(self.shapes) == len(self.supports):
            raise ValueError(
                "supports: expected one name, shape and support for each entry, got names "
                f"{self.names}, shapes {self.shapes} and supports {self.supports}."
            )

    @property
    def dim(self) -> int:
        """The length of z."""
        return sum(self._sizes)

    def constrain(self, z: Float[Array, " dim"]) -> PyTree:
        """The parameter on its support that corresponds to ``z``.

        If rounding would move theta off its support, ``z`` is moved towards the centre first.
        """
        return self.constrain_with_log_det(z)[0]

    def unconstrain(self, theta: PyTree) -> Float[Array, " dim"]:
        """The inverse of ``constrain``; the edge of a support is mapped just inside it."""
        parts = [
            jnp.ravel(_inverse(t, jnp.asarray(leaf, float)))
            for t, leaf in zip(self._transforms, self.leaves(theta), strict=True)
        ]
        return (jnp.concatenate(parts) - self.loc) / self.scale

    def log_det(self, z: Float[Array, " dim"]) -> Float[Array, ""]:
        """``log |d theta / d z|``, which turns densities of z into densities of theta."""
        return self.constrain_with_log_det(z)[1]

    def constrain_with_log_det(self, z: Float[Array, " dim"]) -> tuple[PyTree, Float[Array, ""]]:
        """Both ``constrain`` and ``log_det``, at the cost of one."""
        centres = self._split(jnp.zeros_like(z))
        parts = zip(self._transforms, self.supports, self._split(z), centres, strict=True)
        leaves, total = [], jnp.sum(jnp.log(self.scale))
        for transform, support, part, centre in parts:
            u = _inwards(transform, support, part, centre)
            leaves.append(transform(u))
            total += jnp.sum(transform.log_abs_det_jacobian(u, leaves[-1]))
        return self.pack(leaves), total

    def contains(self, theta: PyTree) -> bool:
        """Whether every entry of one parameter or of a batch lies on its support."""
        pairs = zip(self.supports, self.leaves(theta), strict=True)
        with jax.numpy_rank_promotion("allow"):  # numpyro's bounds have no axis for a batch
            return all(bool(np.all(support(jnp.asarray(leaf)))) for support, leaf in pairs)

    def read(self, theta: Any) -> tuple[PyTree, tuple[int, ...]]:
        """Check a parameter, or a batch of parameters, given by a user.

        Returns:
            theta as arrays with one leading axis, and the shape of the batch.

        Raises:
            TypeError, ValueError: If names or shapes are not those of the prior.
        """
        labelled = zip(self.labels, self.leaves(theta), strict=True)
        numbers = [check_numbers(f"theta{label}", leaf) for label, leaf in labelled]
        with np.errstate(
            over="ignore"
        ):  # beyond single precision is infinite, and outside the support
            arrays = [jnp.asarray(array, float) for array in numbers]
        batches = set()
        for label, shape, array in zip(self.labels, self.shapes, arrays, strict=True):
            cut = array.ndim - len(shape)
            if cut < 0 or array.shape[cut:] != shape:
                raise ValueError(
                    f"theta{label}: expected the shape {shape}, or {shape_text('batch', shape)}, "
                    f"got {array.shape}."
                )
            batches.add(array.shape[:cut])
        if len(batches) > 1:
            raise ValueError(f"theta: the entries have different batch shapes: {sorted(batches)}.")
        (batch,) = batches
        flat = [a.reshape(-1, *s) for a, s in zip(arrays, self.shapes, strict=True)]
        return self.pack(flat), batch

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each entry of theta in messages: ``['mu']``, or empty for a single one."""
        return tuple(f"[{name!r}]" for name in self.names) if self.names is not None else ("",)

    @property
    def _transforms(self) -> list[Transform]:
        return [biject_to(support) for support in self.supports]

    @property
    def _unconstrained_shapes(self) -> list[tuple[int, ...]]:
        pairs = zip(self._transforms, self.shapes, strict=True)
        return [transform.inverse_shape(shape) for transform, shape in pairs]

    @property
    def _sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self._unconstrained_shapes]

    def _split(self, z: Float[Array, " dim"]) -> list[Array]:
        u = self.loc + self.scale * z
        parts = jnp.split(u, np.cumsum(self._sizes)[:-1])
        return [
            p.reshape(shape) for p, shape in zip(parts, self._unconstrained_shapes, strict=True)
        ]

    def pack(self, leaves: list[Any]) -> PyTree:
        """Entries in the order of ``names`` (which jax's dicts do not keep) as one theta."""
        return leaves[0] if self.names is None else dict(zip(self.names, leaves, strict=True))

    def leaves(self, theta: PyTree) -> list[Any]:
        """The entries of a theta, or of a batch, in the order of ``names``."""
        if self.names is None:
            if isinstance(theta, Mapping):
                raise TypeError("theta: expected one array, because the prior is one distribution.")
            return [theta]
        if not isinstance(theta, Mapping) or set(theta) != set(self.names):
            got = sorted(map(str, theta)) if isinstance(theta, Mapping) else type(theta).__name__
            raise TypeError(f"theta: expected a dict with the names {list(self.names)}, got {got}.")
        return [theta[name] for name in self.names]


@eqx.filter_jit
def constrain_all(space: Space, z: Float[Array, "n dim"]) -> PyTree:
    """``Space.constrain`` of many vectors, compiled once for all spaces of the same structure."""
    return jax.vmap(space.constrain)(z)


_EDGE = 16.0  # sigmoid(-16) is about 1e-7: the last float32 before the edge of an interval
_MOVES = 200  # 0.9^200 is 1e-9: a point still outside by then is NaN


def _inwards(
    transform: Transform, support: constraints.Constraint, u: Array, centre: Array
) -> Array:
    """``u``, or the first point from there towards ``centre`` whose theta is on the support.

    A point counts as inside if the inverse is finite there, or if it lies on a closed edge.
    """
    if isinstance(getattr(transform, "base_transform", transform), IdentityTransform):
        return u

    def unfinished(state: tuple[Array, Array]) -> Array:
        point, moves = state
        theta = jax.lax.optimization_barrier(
            transform(point)
        )  # XLA would simplify log(exp(u)) to u
        returns = jnp.all(jnp.isfinite(transform.inv(theta)))
        inside = jnp.all(jnp.isfinite(theta)) & (returns | jnp.all(support(theta)))
        return ~inside & (moves < _MOVES)

    def move(state: tuple[Array, Array]) -> tuple[Array, Array]:
        point, moves = state
        return centre + 0.9 * (point - centre), moves + 1

    start = jax.lax.stop_gradient(u), jnp.array(0)
    point, moves = jax.lax.while_loop(unfinished, move, start)
    return jnp.where(moves > 0, point, u)


def _inverse(transform: Transform, theta: Array) -> Array:
    """The unconstrained image of ``theta``; on the edge, that of the next number inside."""
    u = transform.inv(theta)
    for side in (-jnp.inf, jnp.inf):
        near = transform.inv(jnp.nextafter(theta, side))
        u = jnp.where(jnp.isfinite(u) | ~jnp.isfinite(near), u, near)
    return jnp.where(jnp.isinf(u), jnp.sign(u) * _EDGE, u)


def standardised(space: Space, theta: PyTree) -> Space:
    """The same space, standardised: a batch of draws ``theta`` has unit spread in z.

    Uses the median and half the 16-84 % range, which heavy tails do not affect.
    """
    z = np.asarray(jax.jit(jax.vmap(space.unconstrain))(theta))
    u = z * np.asarray(space.scale) + np.asarray(space.loc)
    low, mid, high = np.quantile(u, [0.16, 0.5, 0.84], axis=0)
    scale = np.where(high > low, (high - low) / 2, 1.0)
    return eqx.tree_at(
        lambda s: (s.loc, s.scale), space, (jnp.asarray(mid, float), jnp.asarray(scale, float))
    )
