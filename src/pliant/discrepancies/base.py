"""What every discrepancy does: compare simulated sets with the observed set."""

import abc
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, Key, PyTree


class AbstractDiscrepancy(eqx.Module):
    """A distance D between the observed set and simulated sets of any size.

    It is used in two steps, so that what depends on the observations alone is computed
    once: ``state = prepare(observed)``, then ``measure`` for each batch of parameters.
    """

    scale: eqx.AbstractVar[Float[Array, " d"] | None]
    """Divisors for the features of the flattened event; None compares raw values."""
    min_draws: ClassVar[int]
    """The fewest usable draws from which a distance can be estimated."""

    def default_beta(self, n_obs: int) -> float:
        """The target bandwidth that suits the discrepancy.

        ``0.05 / N`` gives the exact posterior's width on the Gaussian location task for every N.
        """
        return 0.05 / n_obs

    @property
    def info(self) -> dict[str, float]:
        """Numbers for every round's row of the history."""
        return {}

    def for_sizes(self, n_draws: int, n_obs: int) -> "AbstractDiscrepancy":
        """What compares sets of these sizes: itself, or something cheaper that stands in for it."""
        return self

    @abc.abstractmethod
    def prepare(self, observed: Float[Array, "N *event"]) -> Any:
        """Compute, once, everything that depends on the observations alone."""

    @abc.abstractmethod
    def measure(
        self,
        key: Key[Array, ""],
        state: Any,
        thetas: PyTree,
        x: Float[Array, "K M *event"],
        ok: Bool[Array, "K M"],
    ) -> tuple[Float[Array, " K"], Any]:
        """Distances of ``K`` simulated sets to the observed set.

        Args:
            key: For discrepancies that draw random numbers.
            state: What ``prepare`` or the last ``measure`` returned.
            thetas: The parameters that ``x`` was simulated with, in the prior's structure.
            x: Simulated sets of ``M`` draws.
            ok: Which draws are usable; the others count for nothing.

        Returns:
            The distances, infinite where fewer than ``min_draws`` draws are usable, and the
            state for the next call.
        """


class AbstractWeighableDiscrepancy(AbstractDiscrepancy):
    """A distance that is also defined if observations count unequally."""

    @abc.abstractmethod
    def influences(
        self, state: Any, x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]
    ) -> Float[Array, "K N"]:
        """``dD / dw_i``: how each distance changes with the weight of each observation.

        A constant of an observation, the same for all sets, may be missing.
        """


def check_draws(discrepancy: AbstractDiscrepancy, n_draws: int) -> None:
    """Raise a ``ValueError`` if ``n_draws`` draws are too few for the discrepancy."""
    if n_draws < discrepancy.min_draws:
        raise ValueError(
            f"n_draws: {type(discrepancy).__name__} needs at least {discrepancy.min_draws} draws "
            f"for each parameter, got {n_draws}. Draw more, or use pliant.Euclidean() to compare "
            "single draws."
        )
