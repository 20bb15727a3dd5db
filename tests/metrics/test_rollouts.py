import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.metrics.rollouts import rollout_error
from pliant.tasks.furuta import FurutaTask

TASK = FurutaTask()


def near_truth(n, **factors):
    return {
        name: np.full(n, float(value) * factors.get(name, 1)) for name, value in TASK.truth.items()
    }


def test_zero_at_the_truth():
    assert rollout_error(TASK, near_truth(50)) == 0.0


def test_grows_with_the_distance_from_the_truth():
    errors = [rollout_error(TASK, near_truth(50, g=f)) for f in (1.001, 1.01, 1.05)]
    assert errors[0] > 0
    assert errors == sorted(errors)
    # small changes of a parameter change the motion in proportion
    assert errors[1] / errors[0] == pytest.approx(10, rel=0.2)


def test_the_sum_is_over_steps_and_features():
    theta = near_truth(1, m_p=1.1)
    (key,) = jax.random.split(jax.random.key(4), 1)
    state = TASK.initial_state(key)
    one = {name: jnp.asarray(value[0]) for name, value in theta.items()}
    motions = [TASK.rollout(parameters, state) for parameters in (one, TASK.truth)]
    expected = np.abs(np.subtract(*motions)).sum()
    # the fall from near its equilibrium amplifies rounding
    assert rollout_error(TASK, theta, seed=4) == pytest.approx(expected, rel=1e-2)
