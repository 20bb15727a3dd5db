"""What every simulator does: draw sets of observations for a batch of parameters."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

Sets = tuple[Float[Array, "K n *event"], Bool[Array, "K n"]]
"""``n`` draws for each of ``K`` parameters, and which of them are usable."""
Under = Int[Array, "K n"] | None
"""The number of the condition that each draw is made under; None if there are no conditions."""


def function_name(function: Any) -> str:
    """The name of a function, or the class of another callable."""
    return getattr(function, "__name__", type(function).__name__)


class AbstractSimulator(eqx.Module):
    """A source of draws ``x ~ p(x | theta)``, or ``p(x | theta, condition)``.

    A draw depends only on the key of its parameter and on its own index, never on the batch in
    which it is computed: any chunking gives the same draws.
    """

    @property
    @abc.abstractmethod
    def compiled(self) -> bool:
        """Whether batches should have the same size, because each new size is compiled again."""

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return type(self).__name__

    @abc.abstractmethod
    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """The shape of one draw, checked with one parameter ``theta`` of the prior.

        Raises:
            TypeError, ValueError: If the simulator cannot be used; the message says why.
        """

    @abc.abstractmethod
    def simulate(self, keys: Key[Array, " K"], thetas: PyTree, n: int, under: Under = None) -> Sets:
        """Draw ``n`` observations for each of ``K`` parameters.

        Args:
            keys: One key for each parameter; draw ``m`` uses the key folded with ``m``.
            thetas: Parameters in the prior's structure, with a leading axis of length ``K``.
            n: Draws for each parameter (the paper's M).
            under: The conditions of the draws, if there are any.

        Returns:
            The draws, and which of them are usable. Unusable draws are filled with zeros. Where a
            draw may leave values out, they are NaN.
        """
