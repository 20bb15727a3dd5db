"""The prior: numpyro distributions, as a density of the unconstrained, standardised z."""

from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree
from numpyro.distributions import (
    Distribution,
    ExpandedDistribution,
    Independent,
    TransformedDistribution,
)
from numpyro.distributions.constraints import Constraint, independent
from numpyro.distributions.transforms import biject_to

from pliant.densities.base import AbstractDensity
from pliant.problem.space import Space, standardised

_PILOT_DRAWS = 4096
_LONGEST_NAME = 200  # characters
_SMALLEST, _LARGEST = 1e-18, 1e16  # squares, and the sum of a million of them, are in range


class Prior(AbstractDensity):
    """The prior as the proposal of round one: sampled and evaluated in z, Jacobian included."""

    space: Space
    distributions: tuple[Distribution, ...]

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.space.dim

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws, in z."""
        keys = jax.random.split(key, n)
        theta = jax.vmap(lambda k: _draw(self.space, self.distributions, k))(keys)
        return jax.vmap(self.space.unconstrain)(theta)

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """``log p(theta(z)) + log |d theta / d z|``; ``-inf`` beyond single precision."""

        def one(point: Float[Array, " dim"]) -> Float[Array, ""]:
            theta, log_det = self.space.constrain_with_log_det(point)
            pairs = zip(self.distributions, self.space.leaves(theta), strict=True)
            value = log_det + sum(d.log_prob(leaf) for d, leaf in pairs)
            return jnp.where(value < jnp.inf, value, -jnp.inf)

        return jax.vmap(one)(z)


def read_prior(prior: Any) -> Prior:
    """Check a user's prior: a dict of names to distributions, or one distribution.

    Raises:
        TypeError, ValueError: Naming the entry, what is wrong with it, and the remedy.
    """
    if isinstance(prior, Distribution):
        names, entries = None, [prior]
    elif isinstance(prior, Mapping) and prior:
        _check_names(prior)
        names, entries = tuple(prior), list(prior.values())
    else:
        raise TypeError(
            "prior: expected a dict of names to numpyro distributions, such as "
            f"{{'mu': dist.Normal(0, 1)}}, or one distribution, got {prior!r}."
        )
    labels = ["prior"] if names is None else [f"prior[{name!r}]" for name in names]
    distributions = tuple(_read_entry(*pair) for pair in zip(labels, entries, strict=True))
    space = _space_of(names, labels, distributions)
    _check_columns(space)

    theta, inside, u = _pilot(space, distributions)
    _check_range(labels, space.leaves(theta))
    _check_draws(labels, distributions, space.leaves(theta), inside, u)
    space = standardised(space, theta)
    _check_densities(labels, distributions, _densities(space, distributions, theta))
    return Prior(space=space, distributions=distributions)


def _check_names(names: Iterable[Any]) -> None:
    """Names become columns of tables, members of files and words of commands."""
    for name in names:
        if not (isinstance(name, str) and name):
            raise TypeError(f"prior: expected names that are non-empty strings, got {name!r}.")
        if len(name) > _LONGEST_NAME:
            raise ValueError(
                f"prior: expected names of at most {_LONGEST_NAME} characters, got one of "
                f"{len(name)} that starts with {name[:20]!r}."
            )
        if not name.isprintable() or name != name.strip():
            raise ValueError(
                "prior: expected names of printable characters that do not start or end with a "
                f"space, got {name!r}."
            )


def _check_columns(space: Space) -> None:
    """A vector ``a`` has columns ``a[0]``, ...: no parameter may have such a name."""
    indexed = {name for name in space.names or () if name.endswith("]")}
    for name, shape in zip(space.names or (), space.shapes, strict=bool(space.names)):
        columns = (f"{name}[{','.join(map(str, i))}]" for i in np.ndindex(shape) if i and indexed)
        if clash := indexed.intersection(columns):
            raise ValueError(
                f"prior: {min(clash)!r} is the name of a parameter and of an entry of {name!r}. "
                "Rename one of them."
            )


def _read_entry(label: str, entry: Any) -> Distribution:
    if not isinstance(entry, Distribution):
        hint = f" Did you mean {entry.__name__}(...)?" if isinstance(entry, type) else ""
        raise TypeError(f"{label}: expected a numpyro distribution, got {entry!r}.{hint}")
    if entry.is_discrete:
        raise ValueError(
            f"{label}: {type(entry).__name__} is discrete, but posteriors are densities. "
            "Use a continuous prior and round inside the simulator."
        )
    entry = entry.to_event(len(entry.batch_shape)) if entry.batch_shape else entry
    if 0 in entry.event_shape:
        raise ValueError(f"{label}: expected at least one number, got the shape {entry.shape()}.")
    try:
        jax.eval_shape(entry.sample, jax.random.key(0))
    except NotImplementedError as error:
        raise ValueError(
            f"{label}: {type(entry).__name__} cannot be sampled. If it is improper, use a wide "
            "proper distribution."
        ) from error
    _check_transforms(label, entry)
    return entry


def _check_transforms(label: str, entry: Distribution) -> None:
    """Numpyro derives a transformed distribution's support from its last transform only."""
    while isinstance(entry, Independent | ExpandedDistribution):
        entry = entry.base_dist
    if type(entry) is not TransformedDistribution:
        return
    support = entry.base_dist.support
    for transform in entry.transforms:
        if _of_scalars(transform.domain) != _of_scalars(support):
            raise ValueError(
                f"{label}: its {type(transform).__name__} acts on "
                f"{transform.domain!r}, but its input has the support {support!r}: the support of "
                "its values is unknown. Pass domain=..., or transform inside the simulator."
            )
        support = transform.codomain


def _of_scalars(support: Any) -> Any:
    return support.base_constraint if isinstance(support, independent) else support


def _space_of(
    names: tuple[str, ...] | None, labels: list[str], distributions: tuple[Distribution, ...]
) -> Space:
    sizes = []
    for label, distribution in zip(labels, distributions, strict=True):
        support = _support(distribution)
        try:
            transform = biject_to(support)
        except (NotImplementedError, KeyError) as error:
            raise ValueError(
                f"{label}: numpyro has no bijection onto the support {support!r} of "
                f"{type(distribution).__name__}. Use a distribution on an open region, such as "
                "an interval, the positive numbers, a simplex, or all reals."
            ) from error
        sizes.append(int(np.prod(transform.inverse_shape(distribution.event_shape))))
    dim = sum(sizes)
    if dim == 0:
        raise ValueError("prior: expected at least one free parameter, got none.")
    return Space(
        names=names,
        shapes=tuple(d.event_shape for d in distributions),
        supports=tuple(_support(d) for d in distributions),
        loc=jnp.zeros(dim),
        scale=jnp.ones(dim),
    )


def _support(distribution: Distribution) -> Constraint:
    support = distribution.support
    if support is None:
        raise ValueError(f"prior: {type(distribution).__name__} does not declare its support.")
    return support


def _draw(space: Space, distributions: tuple[Distribution, ...], key: Key[Array, ""]) -> Any:
    keys = jax.random.split(key, len(distributions))
    pairs = zip(distributions, keys, strict=True)
    return space.pack([jnp.asarray(d.sample(k), float) for d, k in pairs])


def _pilot(
    space: Space, distributions: tuple[Distribution, ...]
) -> tuple[Any, list[Array], list[Array]]:
    """Draws, whether they lie on each entry's support, and their unconstrained values."""

    def one(key: Key[Array, ""]) -> tuple[Any, list[Array], list[Array]]:
        theta = _draw(space, distributions, key)
        supports = [_support(d) for d in distributions]
        pairs = list(zip(supports, space.leaves(theta), strict=True))
        inside = [jnp.asarray(support(leaf)) for support, leaf in pairs]
        return theta, inside, [biject_to(support).inv(leaf) for support, leaf in pairs]

    keys = jax.random.split(jax.random.key(0), _PILOT_DRAWS)
    return jax.jit(jax.vmap(one))(keys)


def _check_draws(
    labels: list[str],
    distributions: tuple[Distribution, ...],
    draws: list[Array],
    inside: list[Array],
    u: list[Array],
) -> None:
    for index, (label, distribution) in enumerate(zip(labels, distributions, strict=True)):
        if not np.all(np.isfinite(draws[index])):
            raise ValueError(
                f"{label}: {type(distribution).__name__} draws values that are not finite: "
                "check its parameters."
            )
        if not np.all(inside[index]):
            raise ValueError(
                f"{label}: {type(distribution).__name__} draws values outside of its support "
                f"{distribution.support!r}: check its parameters."
            )
        if not np.all(np.max(u[index], axis=0) > np.min(u[index], axis=0)):
            raise ValueError(
                f"{label}: {type(distribution).__name__} is constant in single precision (seven "
                "digits), so there is nothing to infer: write the value, or the large part that "
                "does not vary, into the simulator."
            )


def _check_range(labels: list[str], draws: list[Array]) -> None:
    """Refuse parameters whose variance overflows, or vanishes, in the type of the samples."""
    for label, values in zip(labels, draws, strict=True):
        sizes = np.abs(np.asarray(values, np.float64))
        middle, largest = np.median(sizes, axis=0), np.max(sizes, axis=0)
        small = (largest < _SMALLEST) & ((largest > 0) | np.all(largest == 0))
        bad = largest[small | (middle > _LARGEST) & np.isfinite(middle)]
        if bad.size:
            raise ValueError(
                f"{label}: it draws values of size {bad[0]:.1g}. Single precision cannot hold the "
                f"variance of values below {_SMALLEST:g} or above {_LARGEST:g}. Change the units: "
                "divide the prior by a constant, and multiply the parameter by it inside the "
                "simulator."
            )


def _densities(space: Space, distributions: tuple[Distribution, ...], theta: PyTree) -> list[Array]:
    """Each entry's log densities of draws that passed through z, off the supports' edges."""

    def one(theta: PyTree) -> list[Array]:
        # XLA would simplify constrain(unconstrain(theta)) to theta.
        z = jax.lax.optimization_barrier(space.unconstrain(theta))
        leaves = space.leaves(space.constrain(z))
        pairs = zip(distributions, leaves, strict=True)
        return [jnp.asarray(d.log_prob(leaf)) for d, leaf in pairs]

    return jax.jit(jax.vmap(one))(theta)


def _check_densities(
    labels: list[str], distributions: tuple[Distribution, ...], log_densities: list[Array]
) -> None:
    for label, distribution, values in zip(labels, distributions, log_densities, strict=True):
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"{label}: the density of {type(distribution).__name__} is not finite at its own "
                "draws: check its parameters (a negative scale? so many entries that single "
                "precision rounds some to zero?)."
            )
