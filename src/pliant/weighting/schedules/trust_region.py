"""The trust-region bandwidth of the paper: bounded information loss in each round."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
from scipy.optimize import root_scalar

from pliant._checks import check_real
from pliant._importance import divergence_from_uniform
from pliant.discrepancies.base import Particles
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.schedules.base import AbstractSchedule
from pliant.weighting.weights import Tempering, log_weights


class TrustRegion(AbstractSchedule):
    """The largest step whose KL from the proposal stays within ``epsilon`` nats (section 3.2).

    With the target ``p L`` and the proposal q, the paper's weights are ``(p L / q)^a``, where
    ``a = 1 / (1 + eta)``. The derivative of its dual g(eta) is the achieved KL minus epsilon, and
    the KL grows with a: so the dual is maximised where the KL, in double precision, equals
    epsilon, and eta is zero where even the full step stays within it.

    On this path an error of the fitted q is corrected by the small power a alone, and feeds
    itself: a mode that happens to be fitted more closely gets more weight in the next round.
    The path "corrected" aims at ``p L^level`` in each round, with a level that rises from zero to
    one: its weights are ``(p L^level / q)^c L^step``. The power c <= 1 of the correction is the
    largest that spends at most a quarter of epsilon, then the step is the largest within it.
    Where distances have no noise, as those of a learned likelihood, it may spend three quarters.
    (SLCP, N = 100, seed 2: with a quarter, one of four modes is lost on the way, as its draws
    are farther from its centre; with three quarters, the modes end with 0.22 to 0.32.)

    The path "prior" corrects everything at once, with the weights ``p L^level / q``. In few
    dimensions that is as good; in ten, the weights ``p / q`` of an imperfect fit alone spend
    more than epsilon, and the run stands still.

    Args:
        epsilon: The most KL(pi_t || pi_{t-1}) of a round, in nats.
        path: "paper", "corrected" or "prior".
    """

    epsilon: float = eqx.field(static=True, default=0.5)
    path: Literal["paper", "corrected", "prior"] = eqx.field(static=True, default="paper")

    def __check_init__(self):
        check_real("epsilon", self.epsilon, above=0)
        if self.path not in _PATHS:
            raise ValueError(f"path: expected one of {', '.join(_PATHS)}, got {self.path!r}.")

    def step(
        self, particles: Particles, kernel: AbstractKernel, beta: float, last: Tempering | None
    ) -> Tempering:
        """The tempering whose achieved KL is epsilon, or the full step where that is shorter."""

        def excess(power: float, exponent: float, epsilon: float) -> float:
            log_w = log_weights(particles, kernel, _tempering(power, exponent, beta), beta)
            return divergence_from_uniform(log_w, particles.log_base) - epsilon

        level = 0.0 if last is None else last.level
        if self.path == "paper":
            a = _largest(lambda a: excess(a, a, self.epsilon))
            return _tempering(a, a, beta, level + a * (1 - level))

        if self.path == "prior":
            level = _largest(lambda level: excess(1.0, level, self.epsilon))
            return _tempering(1.0, level, beta, level)

        most = self.epsilon * (_CORRECTION if particles.is_noisy else _WITHOUT_NOISE)
        c = _largest(lambda c: excess(c, c * level, most))
        step = (1 - level) * _largest(
            lambda share: excess(c, c * level + share * (1 - level), self.epsilon)
        )
        if level + step == 1:  # what the last step leaves of epsilon goes to the correction
            c = max(c, _largest(lambda c: excess(c, c * level + step, self.epsilon)))
        return _tempering(c, c * level + step, beta, level + step)


_PATHS = ("paper", "corrected", "prior")


def _tempering(power: float, exponent: float, beta: float, level: float = 1.0) -> Tempering:
    """Weights ``(p / q)^power L^exponent``."""
    bandwidth = beta / exponent if exponent > 0 else float("inf")
    return Tempering(power=power, bandwidth=bandwidth, level=level)


def _largest(excess: Callable[[float], float]) -> float:
    """The largest number in (0, 1] where a function that rises through zero is not above it."""
    if excess(1.0) <= 0:
        return 1.0
    low = 0.5
    while excess(low) > 0:
        low *= 0.5
        if low < _SMALLEST:
            return low
    return root_scalar(excess, bracket=(low, min(2 * low, 1.0)), rtol=1e-9).root


_CORRECTION = 0.25  # the share of epsilon that correcting the last fit may spend
_WITHOUT_NOISE = 0.75  # the same where distances have no noise
_SMALLEST = 1e-30  # particles without a distance alone exceed epsilon: no power helps
