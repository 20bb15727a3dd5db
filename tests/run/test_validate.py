"""Fields against annotations; ``test_serialise.py`` does this for every class in a file."""

from typing import get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints

import format_runs
import pliant
from pliant.densities.gaussian import GaussianDensity
from pliant.methods.base import Stop
from pliant.methods.pli import PLIState
from pliant.problem.prior import read_prior
from pliant.run.classes import CLASSES
from pliant.run.failures import Failure
from pliant.run.validate import (
    check_density,
    check_fields,
    check_space,
    check_state,
    check_support,
)

SPACE = read_prior({"a": dist.Normal(0, 1), "b": dist.LogNormal(0, 1)}).space
GAUSSIAN = {"mean": jnp.zeros(2), "log_diagonal": jnp.ones(2), "below": jnp.eye(2)}


def test_the_annotations_of_every_class_can_be_read():
    assert all(isinstance(get_type_hints(kind), dict) for kind in CLASSES.values())


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (pliant.Training, "steps", np.int64(3)),
        (pliant.Training, "rate", 1),
        (pliant.Training, "rate", np.float32(0.1)),
        (pliant.Training, "clip", None),
        (pliant.PLI, "beta", "calibrated"),
        (GaussianDensity, "mean", np.zeros(2)),
        (Failure, "parameters", {"mu": [1.0]}),
        (Stop, "status", pliant.Status.FAILED),
    ],
)
def test_what_fits(kind, name, value):
    check_fields(kind, {name: value})


@pytest.mark.parametrize(
    ("kind", "name", "value", "got"),
    [
        (pliant.Training, "steps", 3.0, "3.0"),
        (pliant.Training, "steps", True, "bool"),
        (pliant.Training, "rate", float("nan"), "nan"),
        (pliant.Training, "rate", jnp.ones(()), "array"),
        (pliant.Training, "selection", 1, "int"),
        (pliant.PLI, "beta", "other", "str"),
        (pliant.PLI, "projection", ("m",), "tuple"),
        (pliant.PLI, "kernel", pliant.MMD(), "MMD"),
        (GaussianDensity, "mean", jnp.zeros(2, int), "int32 and shape"),
        (GaussianDensity, "mean", 0.0, "0.0"),
        (GaussianDensity, "mean", jnp.zeros(()), "shape"),
        (Failure, "parameters", {1: 2}, "dict"),
        (Stop, "status", "failed", "str"),
        (CLASSES["MLP"], "activation", 3, "int"),
    ],
)
def test_what_does_not_fit(kind, name, value, got):
    with pytest.raises(TypeError, match=rf"{kind.__name__}\.{name}: expected .*{got}"):
        check_fields(kind, {name: value})


def test_axes_of_one_name_have_one_length():
    check_fields(GaussianDensity, GAUSSIAN)
    check_fields(GaussianDensity, {n: jnp.stack([v] * 3) for n, v in GAUSSIAN.items()})
    for name in GAUSSIAN:
        for other in (jnp.stack([GAUSSIAN[name]] * 3), GAUSSIAN[name][:1]):
            with pytest.raises(TypeError, match="GaussianDensity"):
                check_fields(GaussianDensity, {**GAUSSIAN, name: other})
    squash = {"centre": jnp.zeros((3, 2)), "spread": jnp.ones((3, 2))}
    with pytest.raises(TypeError, match=r"Squash\.centre"):
        check_fields(CLASSES["Squash"], squash)


def test_supports_hold_numbers_and_supports():
    kind = type(constraints.interval(0, 1))
    check_support(kind, {"lower_bound": jnp.zeros(2), "upper_bound": 1})
    check_support(kind, {"base": constraints.real, "n": (1, None)})
    for value in ("0", float("nan"), np.array("0"), np.array([np.nan]), print, [{}]):
        with pytest.raises(TypeError, match="lower_bound: expected numbers"):
            check_support(kind, {"lower_bound": value})


def test_a_density_that_does_not_fit_is_refused():
    check_space(SPACE)
    check_density(GaussianDensity(**GAUSSIAN), SPACE)
    batched = jax.vmap(GaussianDensity)(*(jnp.stack([v] * 2) for v in GAUSSIAN.values()))
    other = GaussianDensity(jnp.zeros(3), jnp.zeros(3), jnp.eye(3))
    infinite = GaussianDensity(jnp.full(2, jnp.inf), jnp.zeros(2), jnp.eye(2))
    for density in (pliant.MMD(), batched, other, infinite):
        with pytest.raises(Exception, match=r"expected|[Ii]ncompatible|got|shape"):
            check_density(density, SPACE)


def test_a_state_of_another_method_is_refused():
    problem = format_runs.problem()
    method, space = format_runs.METHOD, problem.prior.space
    state, _ = method.init(jax.random.key(0), problem)
    check_state(state, method, space)
    with pytest.raises(TypeError, match="expected PLIState, got a value of the type MMD"):
        check_state(pliant.MMD(), method, space)
    with pytest.raises(TypeError, match="expected ABCState"):
        check_state(state, pliant.SMCABC(), space)
    with pytest.raises(TypeError, match="expected MeasuredState"):
        check_state(PLIState(GaussianDensity(**GAUSSIAN), None, 0.1), method, space)
    wide = PLIState(state.discrepancy, None, 0.1, GaussianDensity(**GAUSSIAN))
    with pytest.raises(ValueError, match="expected a density of 1 dimensions, got 2"):
        check_state(wide, method, space)
