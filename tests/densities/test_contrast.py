"""The held-out split and the contrastive loss, against loops."""

import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.contrast import (
    HELD_OUT,
    atoms_of,
    minus_log_shares,
    n_training,
    training_index,
)


@pytest.mark.parametrize("count", [1, 9, 10, 11, 20, 57, 100])
def test_training_examples_are_all_but_those_held_out(count):
    expected = [index for index in range(count) if index % HELD_OUT != 0]
    assert n_training(count) == len(expected)
    np.testing.assert_array_equal(training_index(jnp.arange(len(expected))), expected)


def test_atoms_are_the_own_parameter_and_those_further_on():
    index, offsets = [4, 7, 4, 2, 7, 9], [0, 1, 3, 5]
    atom, repeated = atoms_of(jnp.array(index), jnp.array(offsets[1:]))
    for a, offset in enumerate(offsets):
        for b, own in enumerate(index):
            other = index[(b + offset) % 6]
            assert int(atom[a, b]) == other
            assert bool(repeated[a, b]) == (offset > 0 and other == own)


def test_shares_are_those_among_different_parameters():
    rng = np.random.default_rng(0)
    log_odds, repeated = rng.normal(size=(5, 8)), rng.random((5, 8)) < 0.4
    repeated[0] = False
    repeated[1:, 2] = True  # the own parameter has no rival
    expected = []
    for b in range(8):
        rivals = [np.exp(log_odds[a, b]) for a in range(5) if not repeated[a, b]]
        expected.append(-np.log(np.exp(log_odds[0, b]) / sum(rivals)))
    found = minus_log_shares(jnp.asarray(log_odds, float), jnp.asarray(repeated))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)  # single precision
    assert found[2] == 0
