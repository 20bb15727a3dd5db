import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.simulators.jax import JaxSimulator


def noisy(key, theta):
    return theta["mu"] + theta["scale"] * jax.random.normal(key, (3,))


THETAS = {"mu": jnp.linspace(-1, 1, 7), "scale": jnp.linspace(0.1, 2, 7)}
KEYS = jax.random.split(jax.random.key(0), 7)


def part(start, stop):
    return KEYS[start:stop], {name: leaf[start:stop] for name, leaf in THETAS.items()}


@pytest.mark.default_flags
def test_any_chunking_gives_the_same_draws():
    simulator = JaxSimulator(noisy)
    whole, _ = simulator.simulate(KEYS, THETAS, 5)
    assert whole.shape == (7, 5, 3)
    for cuts in ([0, 7], [0, 1, 7], [0, 3, 4, 7]):
        chunks = [simulator.simulate(*part(a, b), 5)[0] for a, b in itertools.pairwise(cuts)]
        np.testing.assert_array_equal(np.concatenate(chunks), whole)


def test_fewer_draws_are_the_start_of_more():
    simulator = JaxSimulator(noisy)
    many, _ = simulator.simulate(KEYS, THETAS, 9)
    few, _ = simulator.simulate(KEYS, THETAS, 4)
    np.testing.assert_array_equal(few, many[:, :4])


def test_a_draw_is_that_of_the_function_with_its_own_key():
    x, _ = JaxSimulator(noisy).simulate(KEYS, THETAS, 3)
    for k, m in [(0, 0), (2, 1), (6, 2)]:
        theta = {name: leaf[k] for name, leaf in THETAS.items()}
        alone = noisy(jax.random.fold_in(KEYS[k], m), theta)
        # Compiled alone and in a batch, a multiplication and an addition may be fused or not.
        np.testing.assert_allclose(x[k, m], alone, rtol=1e-6, atol=1e-6)


def test_draws_are_independent():
    keys = jax.random.split(jax.random.key(1), 200)
    thetas = {"mu": jnp.zeros(200), "scale": jnp.ones(200)}
    x, _ = JaxSimulator(noisy).simulate(keys, thetas, 50)
    flat = np.asarray(x).reshape(-1)
    # Of 2^23 different uniform numbers, some 50 of 30,000 meet by chance.
    assert len(np.unique(flat)) > 0.995 * flat.size
    # 30,000 standard normal numbers, at five standard errors.
    assert abs(flat.mean()) < 5 / np.sqrt(flat.size)
    assert abs(flat.var() - 1) < 5 * np.sqrt(2 / flat.size)


def test_draws_that_are_not_finite_are_masked_and_zero():
    def breaks(key, theta):
        draw = jax.random.uniform(key)
        bad = jnp.where(draw < 0.4, jnp.nan, jnp.where(draw < 0.6, jnp.inf, 1.0))
        return jnp.array([draw, bad])

    x, ok = JaxSimulator(breaks).simulate(KEYS, THETAS, 200)
    assert ok.shape == (7, 200)
    assert ok.dtype == bool
    x, ok = np.asarray(x), np.asarray(ok)
    np.testing.assert_array_equal(x[~ok], 0.0)  # the finite entries of such a draw, too
    assert np.all(np.isfinite(x))
    assert np.all(x[ok][:, 0] >= 0.6)
    # 1400 draws of probability 0.4: four standard errors are 0.052.
    assert ok.mean() == pytest.approx(0.4, abs=0.052)


def test_integers_become_floats():
    def counts(key, theta):
        return jax.random.randint(key, (2,), 0, 10)

    simulator = JaxSimulator(counts)
    assert simulator.event_shape({}) == (2,)
    x, ok = simulator.simulate(KEYS, THETAS, 3)
    assert x.dtype == jnp.float32
    assert np.all(ok)
    np.testing.assert_array_equal(x, np.round(x))


def test_a_scalar_parameter_and_a_scalar_event():
    simulator = JaxSimulator(lambda key, theta: 2 * theta)
    assert simulator.event_shape(jnp.zeros(())) == ()
    x, ok = simulator.simulate(KEYS, jnp.arange(7.0), 2)
    np.testing.assert_array_equal(x, np.repeat(2 * np.arange(7.0), 2).reshape(7, 2))
    assert np.all(ok)


def test_a_second_call_compiles_nothing():
    traces = []

    def counted(key, theta):
        traces.append(1)
        return theta["mu"]

    simulator = JaxSimulator(counted)
    simulator.simulate(KEYS, THETAS, 3)
    simulator.simulate(KEYS, jax.tree.map(lambda leaf: leaf + 1, THETAS), 3)
    assert len(traces) == 1
    JaxSimulator(counted).simulate(KEYS, THETAS, 3)  # another problem with the same function
    assert len(traces) == 1


def with_numpy(rng, theta):
    return np.random.default_rng(0).normal(theta["mu"], 1.0, size=3)


def silent(key, theta):
    raise ArithmeticError


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        (
            with_numpy,
            ["TracerArrayConversionError: ", "uses NumPy: pliant.PythonSimulator"],
        ),
        (lambda rng, theta: rng.normal(), ["AttributeError: ", "pliant.PythonSimulator(function)"]),
        (lambda key, theta: theta["mo"], ["KeyError: 'mo'. The names in the prior are mu, scale."]),
        (silent, ["simulator(key, theta). ArithmeticError. Expected"]),
    ],
)
def test_a_function_that_jax_cannot_trace_is_told_what_to_do(function, parts):
    theta = {name: leaf[0] for name, leaf in THETAS.items()}
    with pytest.raises(TypeError) as caught:
        JaxSimulator(function).event_shape(theta)
    for part in parts:
        assert part in str(caught.value)
