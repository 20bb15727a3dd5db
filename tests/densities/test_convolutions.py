import equinox as eqx
import jax
import numpy as np
import pytest

import pliant
from pliant.densities.convolutions import _convolved


@pytest.mark.parametrize(
    ("shape", "kernel", "stride"),
    [((50, 2), (5, 2, 3), 1), ((49, 2), (5, 2, 3), 2), ((28, 27, 1), (3, 3, 1, 4), 2)],
)
def test_a_convolution_is_that_of_xla(shape, kernel, stride):
    x = jax.random.normal(jax.random.key(0), shape)
    weights = jax.random.normal(jax.random.key(1), kernel)
    axes = len(shape) - 1
    letters = "HW"[:axes]
    wanted = jax.lax.conv_general_dilated(
        x[None],
        weights,
        (stride,) * axes,
        [((n - 1) // 2, n // 2) for n in kernel[:axes]],
        dimension_numbers=(f"N{letters}C", f"{letters}IO", f"N{letters}C"),
    )[0]
    np.testing.assert_allclose(_convolved(x, weights, stride), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("embedding", "event"),
    [
        (pliant.SeriesEmbedding(features=5), (50,)),
        (pliant.SeriesEmbedding(features=5), (1000, 3)),
        (pliant.SeriesEmbedding(features=5), (1,)),
        (pliant.ImageEmbedding(features=5, channels=2), (28, 28)),
        (pliant.ImageEmbedding(features=5, channels=2), (9, 30, 3)),
    ],
)
def test_observations_become_vectors_that_depend_on_all_of_them(embedding, event):
    shape = embedding.input_shape(event)
    network = embedding.build(jax.random.key(0), shape)
    x = jax.random.normal(jax.random.key(1), shape)
    assert network(x).shape == (5,)
    slopes = eqx.filter_jit(jax.jacobian(lambda x: network(x)))(x)
    assert np.all(np.any(np.asarray(slopes) != 0, axis=0))


@pytest.mark.parametrize(
    ("embedding", "event", "words"),
    [
        (pliant.SeriesEmbedding(), (), r"\(T,\) or \(T, channels\), got \(\)"),
        (pliant.SeriesEmbedding(), (2, 3, 4), r"got \(2, 3, 4\)"),
        (pliant.ImageEmbedding(), (784,), r"\(height, width\).* got \(784,\)"),
    ],
)
def test_observations_of_another_shape_are_refused(embedding, event, words):
    with pytest.raises(ValueError, match=words):
        embedding.input_shape(event)


def test_a_module_of_ones_own_is_checked_with_one_observation():
    module = eqx.nn.Linear(4, 2, key=jax.random.key(0))
    embedding = pliant.ModuleEmbedding(module, features=2)
    assert embedding.build(jax.random.key(1), embedding.input_shape((4,))) is module
    with pytest.raises(ValueError, match=r"could not be called .* \(5,\)"):
        embedding.build(jax.random.key(1), (5,))
    with pytest.raises(ValueError, match=r"shape \(3,\), because features is 3, got \(2,\)"):
        pliant.ModuleEmbedding(module, features=3).build(jax.random.key(1), (4,))
    with pytest.raises(TypeError, match="module: expected"):
        pliant.ModuleEmbedding("net", features=2)


@pytest.mark.parametrize("name", ["features", "channels", "width"])
def test_sizes_are_checked(name):
    for kind in (pliant.SeriesEmbedding, pliant.ImageEmbedding):
        with pytest.raises(ValueError, match=f"{name}: expected an integer of at least 1"):
            kind(**{name: 0})
