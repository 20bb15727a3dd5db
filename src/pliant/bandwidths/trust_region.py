"""The trust-region bandwidth of the paper: bounded information loss in each round."""

import equinox as eqx
from scipy.optimize import root_scalar

from pliant.bandwidths.base import AbstractBandwidth
from pliant.checks import check_real
from pliant.particles import Particles, divergence_from_uniform
from pliant.weights import Temper, log_weights


class TrustRegion(AbstractBandwidth):
    """The smallest eta whose update stays within ``epsilon`` nats of the proposal (section 3.2).

    The derivative of the dual g(eta) is the achieved KL minus epsilon, and the KL grows
    with ``power = 1 / (1 + eta)``: so the dual is maximised where the KL, in double
    precision, equals epsilon, and eta is zero where even the full step stays within it.

    Args:
        epsilon: The most KL(pi_t || pi_{t-1}) of a round, in nats.
    """

    epsilon: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        check_real("epsilon", self.epsilon, above=0)

    def step(self, particles: Particles, beta: float, last: Temper | None) -> Temper:
        """``power = 1 / (1 + eta)`` and ``beta_t = (1 + eta) beta``; ``last`` does not matter."""

        def temper(power: float) -> Temper:
            return Temper(power=power, bandwidth=beta / power)

        def excess(power: float) -> float:
            return (
                divergence_from_uniform(log_weights(particles, temper(power), beta)) - self.epsilon
            )

        if excess(1.0) <= 0:
            return temper(1.0)
        low = 0.5
        while excess(low) > 0:
            low *= 0.5
            if low < _SMALLEST_POWER:
                return temper(low)
        return temper(root_scalar(excess, bracket=(low, min(2 * low, 1.0)), rtol=1e-9).root)


_SMALLEST_POWER = 1e-30  # particles without a distance alone exceed epsilon: no power helps
