"""The Furuta pendulum: masses, lengths and gravity from its free falls."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance
from pliant.tasks.base import AbstractTask, Samples

_STEPS = 100
_STEP = 0.01  # s
_SUBSTEPS = 4  # Runge-Kutta steps per step
_DAMPING_ARM, _DAMPING_POLE = 5e-6, 1e-6  # N m s / rad
_MOTOR_CONSTANT, _MOTOR_RESISTANCE = 0.042, 8.4  # V s / rad, Ohm
_START = np.deg2rad([0.0, 180.0, 0.0, 0.0])
_START_WIDTH = np.deg2rad([5.0, 5.0, 0.1, 0.1])
_TRUTH = {"g": 9.81, "l_r": 0.085, "m_r": 0.095, "l_p": 0.129, "m_p": 0.024}
_RANGE = {
    "g": (9.0, 11.0),
    "l_r": (0.08, 0.09),
    "m_r": (0.08, 0.1),
    "l_p": (0.12, 0.135),
    "m_p": (0.02, 0.03),
}


class FurutaTask(AbstractTask):
    """A pole on a rotating arm falls from near its unstable equilibrium.

    The parameters are gravity (m/s^2), the length (m) and mass (kg) of the arm, and those of
    the pole. One observation is one second of motion in 100 steps. The state is
    ``(theta_r, theta_p, theta_r', theta_p')`` in rad and rad/s; ``theta_p = 0`` hangs down.

    Args:
        back_emf: Add the torque ``-k^2 theta_r' / R`` of the idle motor, as the code of the
            paper's authors does. The paper's text has no torque.
    """

    name: ClassVar[str] = "furuta"
    summary: ClassVar[str] = "masses, lengths and gravity of a rotary pendulum from free falls"
    has_reference: ClassVar[bool] = False

    back_emf: bool = eqx.field(default=False, static=True)

    def __check_init__(self):
        check_instance("back_emf", self.back_emf, bool, "True")

    @property
    def truth(self) -> dict[str, Array]:
        """The paper's values."""
        return {name: jnp.array(value) for name, value in _TRUTH.items()}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Uniform on intervals around the truth."""
        return {name: dist.Uniform(*bounds) for name, bounds in _RANGE.items()}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "100 6"]:
        """A rollout from a random initial state."""
        return self.rollout(theta, self.initial_state(key))

    def initial_state(self, key: Key[Array, ""]) -> Float[Array, "4"]:
        """Uniform: the arm at 0 ± 5°, the pole at 180 ± 5°, both speeds at 0 ± 0.1°/s."""
        width = jnp.asarray(_START_WIDTH, float)
        return jnp.asarray(_START, float) + jax.random.uniform(key, (4,), float, -width, width)

    def rollout(self, theta: dict[str, Array], state: Float[Array, "4"]) -> Float[Array, "100 6"]:
        """The motion from a given state, at 100 steps of 0.01 s.

        Returns:
            Sine and cosine of ``theta_r``, sine and cosine of ``theta_p``, and both speeds.
        """
        inertia = _inertia(theta)
        emf = _MOTOR_CONSTANT**2 / _MOTOR_RESISTANCE if self.back_emf else 0.0
        damping = (_DAMPING_ARM + emf, _DAMPING_POLE)
        r, p, dr, dp = state

        def step(motion: _Motion, _: None) -> tuple[_Motion, Array]:
            motion = jax.lax.fori_loop(
                0, _SUBSTEPS, lambda _, motion: _runge_kutta(inertia, damping, motion), motion
            )
            return motion, jnp.stack(jax.tree.leaves(motion))

        start = ((jnp.sin(r), jnp.cos(r)), (jnp.sin(p), jnp.cos(p)), (dr, dp))
        return jax.lax.scan(step, start, length=_STEPS)[1]

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Raises: this task has no exact posterior."""
        raise ValueError(
            "furuta has no exact posterior: given the hidden initial state, a motion has no noise, "
            "so there is no likelihood. Compare simulated motions with the data instead."
        )


_Pair = tuple[Array, Array]
_Motion = tuple[_Pair, _Pair, _Pair]  # sine and cosine of the arm's angle and of the pole's; speeds


class _Inertia(eqx.Module):
    """The five combinations of the parameters that the motion depends on."""

    arm: Array
    """``m_r l_r^2 / 12 + m_p l_r^2``."""
    lift: Array
    """``m_p l_p^2 / 4``; times ``sin^2 theta_p``, the pole's share of the arm's inertia."""
    coupling: Array
    """``m_p l_p l_r / 2``."""
    pole: Array
    """``m_p l_p^2 / 3``."""
    weight: Array
    """``m_p l_p g / 2``."""


def _inertia(theta: dict[str, Array]) -> _Inertia:
    g, l_r, m_r, l_p, m_p = (theta[name] for name in _TRUTH)
    return _Inertia(
        arm=m_r * l_r**2 / 12 + m_p * l_r**2,
        lift=m_p * l_p**2 / 4,
        coupling=m_p * l_p * l_r / 2,
        pole=m_p * l_p**2 / 3,
        weight=m_p * l_p * g / 2,
    )


def _accelerations(
    inertia: _Inertia, damping: tuple[float, float], pole: _Pair, speeds: _Pair
) -> _Pair:
    """``(theta_r'', theta_p'')`` from the Euler-Lagrange equations.

    ``M (r'', p'') = (-d_r r' - 2 L s c r' p' + C s p'^2, -d_p p' + L s c r'^2 - W s)`` with
    ``M = ((A + L s^2, C c), (C c, P))``, the inertia (A, L, C, P, W), and s, c of ``theta_p``.
    """
    (sin, cos), (dr, dp) = pole, speeds
    m11, m12, m22 = inertia.arm + inertia.lift * sin**2, inertia.coupling * cos, inertia.pole
    swirl = inertia.lift * sin * cos * dr
    f1 = -damping[0] * dr - 2 * swirl * dp + inertia.coupling * sin * dp**2
    f2 = -damping[1] * dp + swirl * dr - inertia.weight * sin
    scale = 1 / (m11 * m22 - m12**2)
    return scale * (m22 * f1 - m12 * f2), scale * (m11 * f2 - m12 * f1)


def _runge_kutta(inertia: _Inertia, damping: tuple[float, float], motion: _Motion) -> _Motion:
    """One classical fourth-order step of angles and speeds.

    The state holds sines and cosines, which are rotated by the angles' changes. Avoiding calls of
    trigonometric functions makes this several times faster.
    """
    h = _STEP / _SUBSTEPS
    arm, pole, v1 = motion

    def stage(t: float, v: _Pair, a: _Pair) -> tuple[_Pair, _Pair]:
        """Speeds and accelerations after ``t`` with speeds ``v`` and accelerations ``a``."""
        speeds = (v1[0] + t * a[0], v1[1] + t * a[1])
        return speeds, _accelerations(inertia, damping, _turn(pole, t * v[1]), speeds)

    a1 = _accelerations(inertia, damping, pole, v1)
    v2, a2 = stage(h / 2, v1, a1)
    v3, a3 = stage(h / 2, v2, a2)
    v4, a4 = stage(h, v3, a3)
    turn_r, turn_p = (h / 6 * (v1[j] + 2 * (v2[j] + v3[j]) + v4[j]) for j in (0, 1))
    gain_r, gain_p = (h / 6 * (a1[j] + 2 * (a2[j] + a3[j]) + a4[j]) for j in (0, 1))
    return _turn(arm, turn_r), _turn(pole, turn_p), (v1[0] + gain_r, v1[1] + gain_p)


def _turn(angle: _Pair, by: Array) -> _Pair:
    """Sine and cosine after a rotation, by Taylor series; exact in float32 up to 0.4 rad."""
    sin, cos = angle
    q = by**2
    sin_by = by * (1 - q / 6 * (1 - q / 20 * (1 - q / 42)))
    cos_by = 1 - q / 2 * (1 - q / 12 * (1 - q / 30))
    return sin * cos_by + cos * sin_by, cos * cos_by - sin * sin_by
