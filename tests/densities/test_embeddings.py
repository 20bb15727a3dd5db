"""Embeddings of sets: what they see, and what they must not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant

X = jax.random.normal(jax.random.key(1), (6, 3))


def test_a_deep_set_sees_no_order_and_takes_any_number():
    network = pliant.DeepSet(features=5, width=8).build(jax.random.key(0), (6, 3))
    np.testing.assert_allclose(network(X), network(X[::-1]), rtol=1e-5, atol=1e-6)
    assert network(X[:2]).shape == network(X).shape == (5,)
    assert not np.allclose(network(X), network(X[:2]), atol=1e-3)
    doubled = jnp.concatenate([X, X])
    assert not np.allclose(network(X), network(doubled), atol=1e-4)  # more data say more


def test_a_concatenation_sees_the_order():
    network = pliant.Concatenation(features=5, width=8).build(jax.random.key(0), (6, 3))
    assert network(X).shape == (5,)
    assert not np.allclose(network(X), network(X[::-1]), atol=1e-3)


@pytest.mark.wrong_types
@pytest.mark.parametrize("kind", [pliant.Concatenation, pliant.DeepSet])
@pytest.mark.parametrize(("option", "value"), [("features", 0), ("width", 1.5), ("features", "a")])
def test_sizes_are_checked(kind, option, value):
    with pytest.raises((TypeError, ValueError), match=option):
        kind(**{option: value})
