"""Weights of new networks: within their bounds, and the same for the same key."""

import equinox as eqx
import jax
import numpy as np
import pytest

from pliant.densities.weights import generator, perceptron, uniform_weights, zeroed

KEY = jax.random.key(4)


def arrays(network):
    return jax.tree.leaves(eqx.filter(network, eqx.is_array))


def test_weights_are_uniform_within_one_over_the_root_of_the_inputs():
    weights = np.asarray(uniform_weights(np.random.default_rng(0), (50, 80), inputs=16))
    assert np.abs(weights).max() <= 0.25
    # uniform on (-b, b): a spread of b / sqrt(3); four standard errors of 4000 numbers
    assert weights.std() == pytest.approx(0.25 / 3**0.5, rel=4 * (0.2 / 4000) ** 0.5)
    assert abs(weights.mean()) < 4 * weights.std() / 4000**0.5
    assert np.abs(uniform_weights(np.random.default_rng(0), (3, 3), inputs=0)).max() <= 1


@pytest.mark.parametrize(("outputs", "depth"), [(3, 2), ("scalar", 3), (1, 0)])
def test_a_perceptron_is_that_of_equinox_with_other_weights(outputs, depth):
    found = perceptron(KEY, 4, outputs, 9, depth)
    model = eqx.nn.MLP(4, outputs, 9, depth, jax.nn.silu, key=KEY)
    assert jax.tree.structure(found) == jax.tree.structure(model)
    shapes = [[leaf.shape for leaf in arrays(mlp)] for mlp in (found, model)]
    assert shapes[0] == shapes[1]
    for layer, inputs in zip(found.layers, [4] + [9] * depth, strict=True):
        for leaf in arrays(layer):
            assert 0 < np.abs(leaf).max() <= inputs**-0.5
    assert found(np.ones(4, np.float32)).shape == (() if outputs == "scalar" else (outputs,))


def test_weights_follow_from_the_key():
    same, other = (perceptron(key, 4, 2, 8, 2) for key in (KEY, jax.random.key(5)))
    again = perceptron(KEY, 4, 2, 8, 2)
    for a, b, c in zip(*map(arrays, (same, again, other)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.all(np.asarray(a) != np.asarray(c))
    numbers = [generator(key).random() for key in jax.random.split(KEY, 10)]
    assert len(set(numbers)) == 10


def test_a_zeroed_layer_gives_zero():
    layer = zeroed(perceptron(KEY, 4, 2, 8, 0).layers[0])
    np.testing.assert_array_equal(layer(np.ones(4, np.float32)), np.zeros(2))
