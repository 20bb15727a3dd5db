import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.weights import perceptron
from pliant.discrepancies.critic import (
    Critic,
    critic_loss,
    held_out_critic_loss,
    untrained_critic,
)
from pliant.discrepancies.draws import TrainingDraws

N, M = 100, 4  # parameters of a round, and draws of each


def first(u, own):
    return u[:1]


def data(rounds=2, own=0, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(1, rounds * N)).astype(np.float32)
    noise = rng.normal(size=(rounds * N, M, 3)).astype(np.float32)
    return TrainingDraws(
        condition=jnp.asarray(theta),
        u=jnp.asarray(theta[0][:, None, None] + noise),
        own=jnp.asarray(rng.normal(size=(rounds * N, M, own)), float),
        kind=None,
        seen=None,
        ok=jnp.ones((rounds * N, M), bool),
        cumulative=jnp.asarray(np.cumsum(np.full(rounds, 1 / rounds)), float),
        part=jnp.asarray(-1),
        parts=1,
        n_particles=N,
        batch_size=16,
    )


def informed(draws):
    critic = untrained_critic(jax.random.key(0), first, 1, draws)
    layer = perceptron(jax.random.key(1), *critic.natural.layers[-1].weight.shape[::-1], 1, 0)
    return eqx.tree_at(lambda c: c.natural.layers[-1], critic, layer.layers[0])


@pytest.mark.parametrize("own", [0, 2])
def test_a_critic_that_knows_nothing_gives_every_parameter_the_same_share(own):
    draws = data(own=own)
    critic = untrained_critic(jax.random.key(0), first, 1, draws)
    critic = eqx.tree_at(lambda c: c.slope, critic, jnp.zeros_like(critic.slope))
    np.testing.assert_allclose(held_out_critic_loss(critic, draws), np.log(N / 10), rtol=1e-5)
    np.testing.assert_allclose(
        critic_loss(critic, draws, jax.random.key(1)), np.log(256), rtol=1e-5
    )


def test_what_a_draw_was_made_under_changes_the_normalisation():
    draws = data(own=2)
    critic = informed(draws)
    given = draws.u[:5, 0], draws.condition[:, :5]
    one = critic.log_odds(given[0], draws.own[:5, 0], given[1])
    other = critic.log_odds(given[0], draws.own[5:10, 0], given[1])
    contrast = (one - other) - (one - other)[:, :1]  # a constant of the draw is left out
    assert np.abs(np.asarray(contrast)[:, 1:]).min() > 1e-6


def test_log_odds_are_bilinear_in_statistics_and_parameters():
    """``2 theta x - theta / 2 + 1 / 4`` of every pair."""
    natural = perceptron(jax.random.key(0), 1, 2, 1, 0)
    natural = eqx.tree_at(
        lambda n: (n.layers[0].weight, n.layers[0].bias),
        natural,
        (jnp.array([[0.0], [-0.5]]), jnp.array([0.0, 0.25])),
    )
    critic = Critic(first, natural, jnp.array([[2.0]]), None)
    x, theta = jnp.array([[1.0], [3.0]]), jnp.array([[0.5, -1.0]])
    found = critic.log_odds(x, jnp.zeros((2, 0)), theta)
    wanted = 2 * x * theta - theta / 2 + 0.25
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_unusable_draws_do_not_count():
    draws = data()
    critic = informed(draws)
    bad = np.zeros((2 * N, M), bool)
    bad[::20] = True
    some = dataclasses.replace(draws, ok=jnp.asarray(~bad))
    garbage = dataclasses.replace(some, u=jnp.where(bad[..., None], 1e3, some.u))
    np.testing.assert_allclose(
        held_out_critic_loss(critic, garbage), held_out_critic_loss(critic, some), rtol=1e-6
    )
    nothing = dataclasses.replace(draws, ok=jnp.zeros((2 * N, M), bool))
    assert float(held_out_critic_loss(critic, nothing)) == 0.0


def test_held_out_parameters_of_all_rounds_count_as_in_the_training():
    draws = data()
    critic = informed(draws)

    def alone(number):
        shares = jnp.zeros(2).at[number].set(1.0)
        return held_out_critic_loss(
            critic, dataclasses.replace(draws, cumulative=jnp.cumsum(shares))
        )

    both = held_out_critic_loss(critic, draws)
    np.testing.assert_allclose(both, (alone(0) + alone(1)) / 2, rtol=1e-5)
    assert float(alone(0)) != float(alone(1))
