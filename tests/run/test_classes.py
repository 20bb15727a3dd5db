import equinox as eqx
import jax
import pytest
from numpyro.distributions import constraints

import pliant
from pliant.run.classes import CLASSES, FUNCTIONS, SUPPORTS
from pliant.simulators.base import AbstractSimulator


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_plain_data_of_pliant_or_a_layer_of_equinox(name):
    kind = CLASSES[name]
    assert kind.__name__ == name
    assert issubclass(kind, eqx.Module) or kind._fields
    assert kind.__module__.startswith(("pliant.", "equinox.nn."))
    assert not name.startswith(("_", "Abstract"))


def test_every_public_option_is_in_the_table():
    public = {name: getattr(pliant, name) for name in pliant.__all__}
    modules = {n: k for n, k in public.items() if isinstance(k, type) and issubclass(k, eqx.Module)}
    options = {
        name: kind
        for name, kind in modules.items()
        if not issubclass(kind, AbstractSimulator | pliant.Problem) and "Abstract" not in name
    }
    assert len(options) > 20
    assert options.items() <= CLASSES.items()


def test_supports_and_functions_are_found_by_name():
    assert SUPPORTS["_Interval"] is type(constraints.interval(0, 1))
    assert all(issubclass(kind, constraints.Constraint) for kind in SUPPORTS.values())
    assert FUNCTIONS["identity"](3) == 3
    network = eqx.nn.MLP(1, 1, 1, 1, key=jax.random.key(0))
    assert network.final_activation is FUNCTIONS["identity"]
    assert network.activation is FUNCTIONS["relu"]
