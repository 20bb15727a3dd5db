"""Kernels that turn a distance and a bandwidth into a pseudo-likelihood, or an acceptance."""

import abc
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

Values = Float[np.ndarray, "*K"]


class AbstractKernel(eqx.Module):
    """A function k(D, h) of the distance D that falls as D grows, and faster for a smaller h."""

    signed: ClassVar[bool] = False
    """Whether a bandwidth can be below zero, as unbiased estimates of a distance can."""

    @abc.abstractmethod
    def log_value(self, distance: Values, bandwidth: float) -> Values:
        """``log k(D, h)``, at most zero for distances that are not negative.

        Unbiased estimates of a distance can be negative. A distance that is not known is
        infinite, and its value ``-inf``.
        """

    @abc.abstractmethod
    def least_bandwidth(self, distance: Values, log_u: Values) -> Values:
        """The smallest h with ``log k(D, h) >= log_u``, where ``log_u`` is below zero.

        With u uniform on (0, 1), a draw is accepted with the probability k(D, h), at most 1, at
        every h from there on. It is infinite where the distance is.
        """


class ExponentialKernel(AbstractKernel):
    """``exp(-D / (2 h))``, the paper's."""

    def log_value(self, distance: Values, bandwidth: float) -> Values:
        """Above zero where the distance is below it: clipping would bias the weights."""
        return _where_known(distance, -_zero_if_unknown(distance) / (2 * bandwidth))

    def least_bandwidth(self, distance: Values, log_u: Values) -> Values:
        """``D / (-2 log u)``; a negative distance is always accepted."""
        return np.maximum(distance, 0.0) / (-2 * log_u)


class GaussianKernel(AbstractKernel):
    """``exp(-D^2 / (2 h^2))``; a negative distance counts as zero."""

    def log_value(self, distance: Values, bandwidth: float) -> Values:
        """The square of the ratio, halved."""
        return _where_known(distance, -0.5 * (_positive(distance) / bandwidth) ** 2)

    def least_bandwidth(self, distance: Values, log_u: Values) -> Values:
        """``D / sqrt(-2 log u)``."""
        return np.maximum(distance, 0.0) / np.sqrt(-2 * log_u)


class UniformKernel(AbstractKernel):
    """One where ``D <= h``, else zero: accept or reject."""

    signed: ClassVar[bool] = True

    def log_value(self, distance: Values, bandwidth: float) -> Values:
        """Zero or ``-inf``."""
        return _where_known(distance, np.where(distance <= bandwidth, 0.0, -np.inf))

    def least_bandwidth(self, distance: Values, log_u: Values) -> Values:
        """The distance itself."""
        return distance


class EpanechnikovKernel(AbstractKernel):
    """``1 - (D / h)^2`` where ``D < h``, else zero; a negative distance counts as zero."""

    def log_value(self, distance: Values, bandwidth: float) -> Values:
        """``-inf`` from the bandwidth on."""
        share = np.minimum(_positive(distance) / bandwidth, 1.0)
        with np.errstate(divide="ignore"):
            return _where_known(distance, np.log1p(-(share**2)))

    def least_bandwidth(self, distance: Values, log_u: Values) -> Values:
        """``D / sqrt(1 - u)``."""
        return np.maximum(distance, 0.0) / np.sqrt(-np.expm1(log_u))


def _positive(distance: Values) -> Values:
    return np.maximum(_zero_if_unknown(distance), 0.0)


def _zero_if_unknown(distance: Values) -> Values:
    return np.where(np.isfinite(distance), distance, 0.0)


def _where_known(distance: Values, log_value: Values) -> Values:
    return np.where(np.isfinite(distance), log_value, -np.inf)
