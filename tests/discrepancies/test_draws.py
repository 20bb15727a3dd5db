"""Training draws: which rounds and parameters a batch has, and how counts are spread."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.draws import TrainingDraws, are_counts, dequantise

KEY = jax.random.key(0)
N_PARTICLES, BATCH = 57, 4000


def draws(rounds):
    """Room for five rounds, of which the newest gets three fifths of the training."""
    size = 5 * N_PARTICLES
    return TrainingDraws(
        condition=jnp.zeros((2, size)),
        u=jnp.zeros((size, 4, 3)),
        ok=jnp.ones((size, 4), bool),
        rounds=jnp.asarray(rounds),
        newest_share=jnp.asarray(0.6),
        n_particles=N_PARTICLES,
        batch_size=BATCH,
    )


def test_the_newest_round_has_its_share_and_the_others_have_equal_ones():
    counts = np.bincount(draws(3).batch_rounds(KEY, BATCH), minlength=5) / BATCH
    # four standard errors of a share of 4000 draws
    np.testing.assert_allclose(counts, [0.6, 0.2, 0.2, 0, 0], atol=4 * (0.24 / BATCH) ** 0.5)
    assert not np.any(draws(1).batch_rounds(KEY, BATCH))


@pytest.mark.parametrize("rounds", [jnp.arange(BATCH) % 3, jnp.array([2])], ids=["each", "one"])
def test_a_batch_has_all_parameters_of_its_rounds_but_those_held_out(rounds):
    data = draws(3)
    params = np.asarray(data.batch_params(KEY, rounds))
    np.testing.assert_array_equal(params // N_PARTICLES, np.broadcast_to(rounds, BATCH))
    held_out = set(range(0, N_PARTICLES, 10))
    assert set(params % N_PARTICLES) == set(range(N_PARTICLES)) - held_out
    assert set(np.asarray(data.held_out_params)) == held_out  # of the newest round


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
