"""Modes that are apart are told from one mode of any shape, with weights and without."""

import numpy as np
import pytest

from pliant.densities.modes import find_modes, weighted_modes

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def modes(shares, n=1000, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.choice(len(shares), n, p=shares)
    return CENTRES[label] + rng.standard_normal((n, 2)), label


def test_modes_are_found():
    z, label = modes([0.5, 0.3, 0.2])
    found = find_modes(z)
    for i in range(3):
        values, counts = np.unique(found[label == i], return_counts=True)
        assert values[np.argmax(counts)] == i  # the largest first
        assert counts.max() > 0.98 * np.sum(label == i)


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
def test_one_mode_is_one(dim):
    rng = np.random.default_rng(dim)
    for z in (rng.standard_normal((1000, dim)), rng.exponential(size=(1000, dim))):
        assert find_modes(z).max() <= 0
        assert not np.any(weighted_modes(rng, z, np.zeros(1000)))


def test_weights_decide_what_is_a_mode():
    """Broad samples have one mode; their weights make it three, and each sample has a label."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-4, 14, (20_000, 2))
    squared = np.sum((z[:, None] - CENTRES[None]) ** 2, axis=2)
    assert not np.any(weighted_modes(rng, z, np.zeros(len(z))))
    found = weighted_modes(rng, z, np.log(np.exp(-2 * squared) @ [0.5, 0.3, 0.2]))
    near, nearest = squared.min(axis=1) < 1, squared.argmin(axis=1)
    pairs = set(zip(found[near], nearest[near], strict=True))
    assert {a for a, _ in pairs} == set(found) == {0, 1, 2}
    assert len(pairs) == 3  # one label for each centre


def test_a_mode_with_few_effective_samples_belongs_to_its_neighbour():
    z, label = modes([0.45, 0.45, 0.1], n=2000)
    log_weights = np.zeros(len(z))
    log_weights[np.flatnonzero(label == 2)[40:]] = -np.inf  # forty samples are a mode, but few
    found = weighted_modes(np.random.default_rng(0), z, log_weights)
    assert set(found) == {0, 1}
    np.testing.assert_array_equal(np.unique(found[label == 0]), found[label == 0][:1])


def test_few_different_samples_are_taken_for_one_mode():
    z, _ = modes([0.5, 0.5])
    log_weights = np.where(np.arange(1000) < 100, 0.0, -np.inf)
    assert not np.any(weighted_modes(np.random.default_rng(0), z, log_weights))


@pytest.mark.parametrize("seed", range(10))
def test_modes_are_found_whatever_their_distance_is_to_the_width_of_other_parameters(seed):
    """Two signs that the data leave open, among three parameters: SLCP's posterior."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(1000, 5))
    signs = rng.choice([-1.0, 1.0], (1000, 2))
    z[:, :2] = signs + 0.1 * z[:, :2]
    found = find_modes(z)
    assert found.max() == 3
    for mode in range(4):
        assert len(np.unique(signs[found == mode], axis=0)) == 1


def test_a_parameter_without_any_width_is_no_matter():
    """Draws that are all equal in one parameter have no width there."""
    z = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 0.0]
    assert find_modes(z).max() <= 0
