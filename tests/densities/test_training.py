"""Training: it finds a minimum, stops early, and returns the best model that was evaluated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.training import Training, train


class Point(eqx.Module):
    x: jax.Array


def squared(model, data, key):
    return jnp.sum((model.x - data["target"]) ** 2)


def held_out(model, data):
    return jnp.sum((model.x - data["held_out"]) ** 2)


def trained(training, target, held_out_target):
    data = {"target": jnp.asarray(target), "held_out": jnp.asarray(held_out_target)}
    return train(jax.random.key(0), Point(jnp.zeros(2)), data, squared, held_out, training)


def test_a_quadratic_is_minimised():
    model, info = trained(Training(steps=2000, rate=0.05), [1.0, -2.0], [1.0, -2.0])
    np.testing.assert_allclose(model.x, [1.0, -2.0], atol=0.02)
    assert float(info["held_out"]) < 1e-3


def test_it_stops_when_the_held_out_loss_grows_and_keeps_the_best():
    training = Training(steps=2000, rate=0.05, every=20, patience=2)
    model, info = trained(training, [4.0, 4.0], [1.0, 1.0])
    assert int(info["fit_steps"]) < 500
    assert float(info["held_out"]) == pytest.approx(float(held_out(model, {"held_out": 1.0})))
    assert float(info["held_out"]) < 2.0  # that of the start is 2


@pytest.mark.wrong_types
@pytest.mark.parametrize("option", ["steps", "rate", "clip", "every", "patience"])
def test_options_are_checked(option):
    with pytest.raises((TypeError, ValueError), match=option):
        Training(**{option: 0})
    with pytest.raises(TypeError, match=f"{option}: expected"):
        Training(**{option: "many"})
