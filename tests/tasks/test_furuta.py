from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.tasks import furuta
from pliant.tasks.furuta import FurutaTask

K = 64


@pytest.fixture(scope="module")
def thetas():
    keys = jax.random.split(jax.random.key(0), 5)
    return {
        name: prior.sample(key, (K,))
        for key, (name, prior) in zip(keys, FurutaTask().prior.items(), strict=True)
    }


@pytest.fixture(scope="module")
def states():
    return jax.vmap(FurutaTask().initial_state)(jax.random.split(jax.random.key(1), K))


def test_initial_states(states):
    keys = jax.random.split(jax.random.key(2), 20_000)
    degrees = np.rad2deg(jax.vmap(FurutaTask().initial_state)(keys)) - [0, 180, 0, 0]
    width = np.array([5, 5, 0.1, 0.1])
    assert np.all(np.abs(degrees) <= width + 1e-4)
    # uniform: mean 0 and variance width^2 / 3, with standard errors 0.004 and 0.006 of the width
    np.testing.assert_allclose(degrees.mean(axis=0) / width, 0.0, atol=0.02)
    np.testing.assert_allclose(degrees.var(axis=0) / width**2, 1 / 3, atol=0.02)


def test_a_draw_is_a_rollout_from_its_initial_state():
    task, key = FurutaTask(), jax.random.key(3)
    again = task.rollout(task.truth, task.initial_state(key))
    np.testing.assert_array_equal(task.simulator(key, task.truth), again)


def mass_matrix(theta, p):
    _, l_r, m_r, l_p, m_p = theta
    top = m_r * l_r**2 / 12 + m_p * l_r**2 + m_p * l_p**2 * jnp.sin(p) ** 2 / 4
    side = m_p * l_p * l_r * jnp.cos(p) / 2
    return jnp.array([[top, side], [side, m_p * l_p**2 / 3]])


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None))
def paper_solution(theta, state, torque):
    """The paper's equations, term by term, to a tolerance of 1e-9."""
    g, l_r, _, l_p, m_p = theta

    def slopes(t, y, args):
        _, p, dr, dp = y
        force = jnp.array([-5e-6 * dr + torque * dr, -1e-6 * dp])
        bias = jnp.array(
            [
                m_p * l_p**2 * jnp.sin(2 * p) * dr * dp / 4
                - m_p * l_p * l_r * jnp.sin(p) * dp**2 / 2,
                -m_p * l_p**2 * jnp.sin(2 * p) * dr**2 / 8 + m_p * l_p * g * jnp.sin(p) / 2,
            ]
        )
        return jnp.concatenate([y[2:], jnp.linalg.solve(mass_matrix(theta, p), force - bias)])

    y = diffrax.diffeqsolve(
        diffrax.ODETerm(slopes),
        diffrax.Dopri8(),
        *(0.0, 1.0, 1e-3),
        state,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.01, 1.0, 100)),
        stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-10),
    ).ys
    r, p, dr, dp = y.T
    return jnp.stack([jnp.sin(r), jnp.cos(r), jnp.sin(p), jnp.cos(p), dr, dp], axis=1)


@pytest.mark.parametrize("back_emf", [False, True])
def test_rollouts_solve_the_papers_equations(thetas, states, back_emf):
    x = np.asarray(jax.jit(jax.vmap(FurutaTask(back_emf=back_emf).rollout))(thetas, states), float)
    torque = -(0.042**2) / 8.4 if back_emf else 0.0
    with jax.enable_x64(True):
        theta = jnp.stack(
            [jnp.asarray(thetas[name], jnp.float64) for name in FurutaTask().truth], 1
        )
        exact = np.asarray(paper_solution(theta, jnp.asarray(states, jnp.float64), torque))
    error = np.abs(x - exact)
    # The fall from an unstable equilibrium multiplies rounding errors of 6e-8 by some 1e4;
    # speeds reach 37 rad/s. Measured: 8e-4 and 0.013.
    assert error[..., :4].max() < 2e-3
    assert error[..., 4:].max() < 0.03


def energies(thetas, x):
    """In units of the potential's range ``m_p l_p g``, ``(K, 100)``."""

    def energy(theta, x):
        _, _, sin, cos, *speeds = x
        speeds = jnp.array(speeds)
        g, _, _, l_p, m_p = theta
        kinetic = 0.5 * speeds @ mass_matrix(theta, jnp.arctan2(sin, cos)) @ speeds
        return kinetic / (m_p * l_p * g) - cos / 2

    theta = jnp.stack([thetas[name] for name in FurutaTask().truth], axis=1)
    return np.asarray(jax.vmap(lambda t, xs: jax.vmap(lambda one: energy(t, one))(xs))(theta, x))


def test_energy_is_kept_without_damping(thetas, states, monkeypatch):
    monkeypatch.setattr(furuta, "_DAMPING_ARM", 0.0)
    monkeypatch.setattr(furuta, "_DAMPING_POLE", 0.0)
    values = energies(thetas, jax.vmap(FurutaTask().rollout)(thetas, states))
    # 0.1 % is promised; RK4 with 2.5 ms keeps 1e-5
    assert np.abs(values - values[:, :1]).max() < 1e-4


def test_sines_and_cosines_stay_on_the_circle(thetas, states):
    x = np.asarray(jax.vmap(FurutaTask().rollout)(thetas, states))
    # 400 turns, each rounded to 6e-8
    for pair in (x[..., 0:2], x[..., 2:4]):
        np.testing.assert_allclose(np.sum(pair**2, axis=-1), 1.0, atol=2e-5)


def test_torques_take_energy(thetas, states):
    for back_emf, least in ((False, 1e-3), (True, 0.05)):
        values = energies(thetas, jax.vmap(FurutaTask(back_emf=back_emf).rollout)(thetas, states))
        assert np.all(np.diff(values) < 1e-5)
        assert np.all(values[:, 0] - values[:, -1] > least)


def test_back_emf_is_an_option_of_the_task():
    task = FurutaTask(back_emf=True)
    assert task.name == "furuta"
    assert task.simulator != FurutaTask().simulator  # what is compiled for one is not used for both


def test_there_is_no_reference():
    assert not FurutaTask.has_reference
    with pytest.raises(ValueError, match="furuta has no exact posterior"):
        FurutaTask().reference()


@pytest.mark.wrong_types
def test_back_emf_is_a_flag():
    with pytest.raises(TypeError, match="back_emf"):
        FurutaTask(back_emf="no")
