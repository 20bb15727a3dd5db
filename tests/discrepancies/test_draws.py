"""Training draws: which rounds and parameters a batch has, and how counts are spread."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.draws import RoundDraws, TrainingDraws, are_counts, dequantise

KEY = jax.random.key(0)
N_PARTICLES, BATCH = 57, 4000


def draws(*shares, part=0, parts=1, n_particles=N_PARTICLES, n_draws=4):
    """Room for five rounds, of which the first ones get these shares of the training."""
    size = 5 * n_particles
    shares = np.pad(shares, (0, 5 - len(shares)))
    return TrainingDraws(
        condition=jnp.zeros((2, size)),
        u=jnp.zeros((size, n_draws, 3)),
        own=jnp.zeros((size, n_draws, 0)),
        kind=None,
        seen=None,
        ok=jnp.ones((size, n_draws), bool),
        cumulative=jnp.asarray(shares.cumsum(), float),
        part=jnp.asarray(part),
        parts=parts,
        n_particles=n_particles,
        batch_size=BATCH,
    )


@pytest.mark.parametrize("total", [1.0, 0.3])
def test_every_round_has_its_share_and_padding_has_none(total):
    shares = np.array([0.6, 0.3, 0.1])
    data = draws(*(total * shares))
    counts = np.bincount(data.batch_rounds(KEY, BATCH), minlength=5) / BATCH
    # four standard errors of a share of 4000 draws
    np.testing.assert_allclose(counts, [*shares, 0, 0], atol=4 * (0.24 / BATCH) ** 0.5)
    assert not np.any(draws(1.0).batch_rounds(KEY, BATCH))


@pytest.mark.parametrize("rounds", [jnp.arange(BATCH) % 3, jnp.array([2])], ids=["each", "one"])
def test_a_batch_has_all_parameters_of_its_rounds_but_those_held_out(rounds):
    data = draws(0.6, 0.3, 0.1)
    params = np.asarray(data.batch_params(KEY, rounds))
    np.testing.assert_array_equal(params // N_PARTICLES, np.broadcast_to(rounds, BATCH))
    held_out = set(range(0, N_PARTICLES, 10))
    assert set(params % N_PARTICLES) == set(range(N_PARTICLES)) - held_out
    assert set(np.asarray(data.held_out_params)) == held_out  # of the newest round


@pytest.mark.parametrize("n_particles", [300, 310])
def test_each_network_leaves_out_a_part_of_its_own_and_what_is_held_out(n_particles):
    """In groups of 27 trained parameters, of which each of three parts has nine in a row.

    The nine of 310 after the last whole group are seen by none.
    """
    trained = [k for k in range(n_particles) if k % 10][: 10 * 27]
    seen = []
    for part in range(3):
        data = draws(1.0, part=part, parts=3, n_particles=n_particles)
        seen.append(set(np.asarray(data.batch_params(KEY, jnp.array([0]))).tolist()))
        left_out = {k for place, k in enumerate(trained) if place // 9 % 3 == part}
        assert seen[-1] == set(trained) - left_out
        np.testing.assert_array_equal(data.held_out_params, np.arange(0, n_particles, 10))
    assert set.union(*seen) == set(trained)
    assert not set.intersection(*seen)  # every parameter is left out by one of the networks


def test_one_network_alone_leaves_nothing_out():
    data = draws(1.0, part=-1, parts=3, n_particles=310)
    seen = set(np.asarray(data.batch_params(KEY, jnp.array([0]))).tolist())
    assert seen == {k for k in range(310) if k % 10}


def test_no_part_is_left_out_of_too_few_parameters():
    data = draws(1.0, part=1, parts=3, n_particles=29)  # 26 are trained on, and 27 make a group
    seen = set(np.asarray(data.batch_params(KEY, jnp.array([0]))).tolist())
    assert seen == {k for k in range(29) if k % 10}


def test_moments_are_those_of_usable_draws():
    """Of all parameters, and of the held-out ones; a parameter without a usable draw has none."""
    rng = np.random.default_rng(0)
    u = rng.normal(3.0, 1.0, (5 * N_PARTICLES, 4, 3)).astype(np.float32)
    ok = rng.random((len(u), 4)) < 0.7
    ok[:2] = [[True] * 4, [False] * 4]
    u[~ok] = np.nan
    plain = dataclasses.replace(draws(1.0), u=jnp.asarray(u), ok=jnp.asarray(ok))
    data = plain.with_moments()
    for index, moments in ((range(len(u)), data.moments), (plain.held_out_params, None)):
        found = data.held_out_moments if moments is None else moments
        for place, param in enumerate(np.asarray(index)):
            known = u[param][ok[param]]
            assert found.n[place] == len(known)
            if len(known):
                covariance = np.cov(known.T, bias=True)
                np.testing.assert_allclose(found.mean[:, place], known.mean(axis=0), rtol=1e-5)
                np.testing.assert_allclose(found.covariance[..., place], covariance, atol=1e-5)


def test_the_held_out_loss_needs_fifty_draws_of_a_parameter_at_most():
    assert draws(1.0).n_held_out_draws == 4
    assert draws(1.0, n_draws=80).n_held_out_draws == 50


def test_draws_are_repeated_equally_often():
    rng = np.random.default_rng(0)
    ok = rng.random((5, 2)) < 0.5
    given = RoundDraws(
        features=rng.normal(size=(5, 1)),
        rows=rng.normal(size=(5, 2, 3)),
        own=np.zeros((5, 2, 0)),
        kind=None,
        seen=None,
        ok=ok,
    )
    assert given.repeated(2) is given
    more = given.repeated(6)
    assert more.kind is None
    np.testing.assert_array_equal(more.features, given.features)
    for start in (0, 2, 4):
        np.testing.assert_array_equal(more.rows[:, start : start + 2], given.rows)
        np.testing.assert_array_equal(more.ok[:, start : start + 2], ok)


def test_counts_are_whole_numbers_everywhere():
    x = np.array([[0.0, 1.0, 0.5], [-3.0, 2.5, 0.5], [4.0, 3.0, 0.5]])
    np.testing.assert_array_equal(are_counts(x), [True, False, False])


def test_counts_are_spread_evenly_over_their_cell_and_nothing_else_changes():
    rng = np.random.default_rng(0)
    x = np.stack([rng.poisson(3.0, (50, 100)), rng.normal(size=(50, 100))], axis=-1)
    x = x.astype(np.float32)
    spread = np.asarray(dequantise(KEY, jnp.asarray(x), np.array([True, False])))
    np.testing.assert_array_equal(spread[..., 1], x[..., 1])
    np.testing.assert_array_equal(np.round(spread[..., 0]), x[..., 0])
    noise = np.sort((spread - x)[..., 0].ravel())
    # the largest gap between the uniform distribution and that of 5000 draws (Kolmogorov)
    assert np.abs(noise + 0.5 - np.linspace(0, 1, 5000)).max() < 2 / 5000**0.5
