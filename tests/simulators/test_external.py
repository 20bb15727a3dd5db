"""The table of draws: what is missing, what a piece fills, and when a simulator is given up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from pliant.simulators.dispatch import SimulatorError
from pliant.simulators.external import Setting, SimulationError, Table
from pliant.simulators.layout import Layout


def normal(rng, theta):
    return rng.normal(theta["mu"], size=2)


def request(simulator, k=5, n=4):
    keys = jax.random.split(jax.random.key(0), k)
    return simulator.request(keys, {"mu": jnp.arange(float(k))}, n)


def test_a_table_is_filled_piece_by_piece():
    simulator = pliant.PythonSimulator(normal, event=(2,))
    table = Table(request(simulator))
    assert table.missing.all()
    wanted = np.zeros((5, 4), bool)
    wanted[1, 2] = wanted[4] = True
    for places, drawn in simulator.draw(table.request, wanted):
        table.fill(places, drawn)
    np.testing.assert_array_equal(table.missing, ~wanted)
    for places, drawn in simulator.draw(table.request, table.missing):
        table.fill(places, drawn)
    x, ok = table.sets()
    assert ok.all()
    whole, _ = simulator.simulate(
        jax.random.split(jax.random.key(0), 5), {"mu": jnp.arange(5.0)}, 4
    )
    np.testing.assert_array_equal(x, whole)  # the order of the pieces does not matter


def broken(rng, theta):
    raise ArithmeticError("no convergence")


def test_a_hundred_failed_parameters_end_the_simulation():
    simulator = pliant.PythonSimulator(broken, event=(2,))
    keys, thetas = jax.random.split(jax.random.key(0), 100), {"mu": jnp.zeros(100)}
    with pytest.raises(SimulatorError, match="all of 100 parameters failed"):
        simulator.simulate(keys, thetas, 2)
    _, ok = simulator.simulate(keys[:99], {"mu": jnp.zeros(99)}, 2)
    assert not ok.any()


def test_raising_names_the_draw_its_parameter_and_the_reason():
    simulator = pliant.PythonSimulator(broken, event=(2,), on_failure="raise")
    with pytest.raises(SimulationError, match=r"exception in draw 0 with .*mu.*no convergence"):
        simulator.simulate(jax.random.split(jax.random.key(0), 1), {"mu": jnp.zeros(1)}, 2)


def test_the_shape_of_a_draw_is_given_or_that_of_the_observations():
    with pytest.raises(ValueError, match="event: expected the shape"):
        pliant.PythonSimulator(normal).event_shape({"mu": 0.0})
    setting = Setting(Layout(None, ((2,),)))
    assert pliant.PythonSimulator(normal).within(setting).event_shape({}) == (2,)
    assert pliant.PythonSimulator(normal, event=(3,)).within(setting).event_shape({}) == (3,)
