"""Training: it finds a minimum, stops early, and returns the best model that was evaluated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.training import Effort, Training, train


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


ALL = Effort()


def height(model, data, key):
    return jnp.sum(model.x)


def path_end(*, effort=ALL, **options):
    """Where ten steps of a constant gradient lead."""
    data = {"target": jnp.zeros(2), "held_out": jnp.zeros(2)}
    training = Training(steps=10, every=1, rate=0.1, patience=10, selection=False, **options)
    start = Point(jnp.zeros(2))
    model, info = train(jax.random.key(0), start, data, height, None, training, effort)
    return float(model.x[0]), info


def test_plain_training_is_adam_alone():
    """Adam's step along a constant gradient is the rate: ten steps of 0.1."""
    end, info = path_end(decay=1.0, clip=None, averaging=1.0)
    assert end == pytest.approx(-1.0, rel=1e-4)
    assert "held_out" not in info
    plain = Training.plain(steps=10, rate=0.1)
    assert (plain.decay, plain.clip, plain.averaging, plain.selection) == (1.0, None, 1.0, False)


def test_the_rate_decays_along_a_cosine():
    rates = 0.1 * (0.99 * 0.5 * (1 + np.cos(np.pi * np.arange(10) / 10)) + 0.01)
    assert path_end(averaging=1.0)[0] == pytest.approx(-rates.sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("effort", "steps", "rate"),
    [(Effort(steps=0.5), 5, 0.1), (Effort(steps=0.5, rate=0.3), 5, 0.03), (Effort(0.01), 1, 0.1)],
)
def test_an_effort_shortens_the_training_and_its_rate(effort, steps, rate):
    """The cosine ends where the training does; one evaluation is the least."""
    end, info = path_end(averaging=1.0, effort=effort)
    rates = rate * (0.99 * 0.5 * (1 + np.cos(np.pi * np.arange(steps) / steps)) + 0.01)
    assert int(info["fit_steps"]) == steps
    assert end == pytest.approx(-rates.sum(), rel=1e-4)


def test_an_effort_can_be_slowed():
    slowed = Effort(steps=0.5, rate=0.4).slowed(0.25)
    assert (float(slowed.steps), float(slowed.rate)) == pytest.approx((0.5, 0.1))


def test_an_effort_compiles_nothing():
    traces = []

    def counted(model, data, key):
        traces.append(1)
        return jnp.sum((model.x - data) ** 2)

    training, start = Training(steps=4, every=2), Point(jnp.zeros(2))
    counts = []
    for effort in (ALL, Effort(steps=0.5, rate=0.3)):
        train(jax.random.key(0), start, jnp.ones(2), counted, None, training, effort)
        counts.append(len(traces))
    assert counts[0] == counts[1] > 0


def test_the_result_is_the_running_average():
    average, x = 0.0, 0.0
    for _ in range(10):
        x -= 0.1
        average += 0.2 * (x - average)
    assert path_end(decay=1.0, averaging=0.2)[0] == pytest.approx(average, rel=1e-4)


def test_a_clipped_gradient_has_the_given_norm():
    """With a limit of 1e-9, Adam's epsilon of 1e-8 outweighs the gradient: tiny steps."""
    assert abs(path_end(decay=1.0, averaging=1.0, clip=1e-9)[0]) < 0.1
    assert path_end(decay=1.0, averaging=1.0, clip=5.0)[0] == pytest.approx(-1.0, rel=1e-4)


def test_without_selection_all_steps_are_made_and_the_last_model_is_kept():
    training = Training(steps=500, rate=0.05, every=20, patience=2, selection=False)
    model, info = trained(training, [4.0, 4.0], [1.0, 1.0])
    assert int(info["fit_steps"]) == 500
    assert float(info["held_out"]) == pytest.approx(float(held_out(model, {"held_out": 1.0})))
    np.testing.assert_allclose(model.x, [4.0, 4.0], atol=0.1)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    "option", ["steps", "rate", "decay", "clip", "averaging", "every", "patience"]
)
def test_options_are_checked(option):
    with pytest.raises((TypeError, ValueError), match=option):
        Training(**{option: 0})
    with pytest.raises(TypeError, match=f"{option}: expected"):
        Training(**{option: "many"})
