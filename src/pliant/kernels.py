"""Kernels that turn a distance and a bandwidth into a pseudo-likelihood, or an acceptance."""

import abc

import equinox as eqx
import numpy as np
from jaxtyping import Float


class AbstractKernel(eqx.Module):
    """A function k(D, h) of the distance D that falls as D grows, and faster for a smaller h."""

    @abc.abstractmethod
    def log_value(
        self, distance: Float[np.ndarray, "*K"], bandwidth: float
    ) -> Float[np.ndarray, "*K"]:
        """``log k(D, h)``, at most zero for distances that are not negative.

        Unbiased estimates of a distance can be negative. A distance that is not known is
        infinite, and its value ``-inf``.
        """


class ExponentialKernel(AbstractKernel):
    """``exp(-D / (2 h))``, the paper's."""

    def log_value(
        self, distance: Float[np.ndarray, "*K"], bandwidth: float
    ) -> Float[np.ndarray, "*K"]:
        """Above zero where the distance is below it: clipping would bias the weights."""
        return _where_known(distance, -_zero_if_unknown(distance) / (2 * bandwidth))


class GaussianKernel(AbstractKernel):
    """``exp(-D^2 / (2 h^2))``; a negative distance counts as zero."""

    def log_value(
        self, distance: Float[np.ndarray, "*K"], bandwidth: float
    ) -> Float[np.ndarray, "*K"]:
        """The square of the ratio, halved."""
        return _where_known(distance, -0.5 * (_positive(distance) / bandwidth) ** 2)


class UniformKernel(AbstractKernel):
    """One where ``D <= h``, else zero: accept or reject."""

    def log_value(
        self, distance: Float[np.ndarray, "*K"], bandwidth: float
    ) -> Float[np.ndarray, "*K"]:
        """Zero or ``-inf``."""
        return np.where(distance <= bandwidth, 0.0, -np.inf)


class EpanechnikovKernel(AbstractKernel):
    """``1 - (D / h)^2`` where ``D < h``, else zero; a negative distance counts as zero."""

    def log_value(
        self, distance: Float[np.ndarray, "*K"], bandwidth: float
    ) -> Float[np.ndarray, "*K"]:
        """``-inf`` from the bandwidth on."""
        share = np.minimum(_positive(distance) / bandwidth, 1.0)
        with np.errstate(divide="ignore"):
            return _where_known(distance, np.log1p(-(share**2)))


def _positive(distance: Float[np.ndarray, "*K"]) -> Float[np.ndarray, "*K"]:
    return np.maximum(_zero_if_unknown(distance), 0.0)


def _zero_if_unknown(distance: Float[np.ndarray, "*K"]) -> Float[np.ndarray, "*K"]:
    return np.where(np.isfinite(distance), distance, 0.0)


def _where_known(
    distance: Float[np.ndarray, "*K"], log_value: Float[np.ndarray, "*K"]
) -> Float[np.ndarray, "*K"]:
    return np.where(np.isfinite(distance), log_value, -np.inf)
