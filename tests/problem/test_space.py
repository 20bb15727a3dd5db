"""The parameter space at its edges, in the structures that users write, and as JSON."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions.transforms import OrderedTransform, biject_to

from pliant.problem.space import Space

ORDERED = dist.TransformedDistribution(dist.Normal(jnp.zeros(3), 1).to_event(1), OrderedTransform())


def space_of(prior):
    """The space of a prior, not standardised."""
    entries = list(prior.values()) if isinstance(prior, dict) else [prior]
    transforms = [biject_to(entry.support) for entry in entries]
    sizes = [
        math.prod(t.inverse_shape(e.event_shape)) for t, e in zip(transforms, entries, strict=True)
    ]
    return Space(
        names=tuple(prior) if isinstance(prior, dict) else None,
        shapes=tuple(entry.event_shape for entry in entries),
        supports=tuple(entry.support for entry in entries),
        loc=jnp.zeros(sum(sizes)),
        scale=jnp.ones(sum(sizes)),
    )


NAMED = space_of(
    {
        "sigma": dist.HalfNormal(1.0),
        "mu": dist.Normal(jnp.array([100.0, -100.0]), 1.0).to_event(1),
        "alpha": dist.Uniform(5.0, 6.0),
    }
)


@pytest.mark.parametrize(
    ("distribution", "edges"),
    [
        (dist.Uniform(0.0, 1.0), [0.0, 1.0]),
        (dist.Uniform(-1.0, 4.0), [-1.0, 4.0]),
        (dist.Uniform(1e6, 1e6 + 1), [1e6, 1e6 + 1]),
        (dist.Beta(0.5, 0.5), [0.0, 1.0]),
        (dist.HalfNormal(2.0), [0.0]),
        (dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=2.0), [-0.5, 2.0]),
        (dist.TruncatedNormal(0.0, 1.0, low=1.0), [1.0]),
        (dist.Dirichlet(jnp.ones(3)), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_edge_of_a_support_is_mapped_just_inside(distribution, edges):
    space = space_of(distribution)
    z = jax.vmap(space.unconstrain)(jnp.array(edges))
    assert np.all(np.isfinite(z))
    theta = jax.vmap(space.constrain)(z)
    assert space.contains(theta)
    # sigmoid(-16) is 1.1e-7 of the interval, and the far interval has steps of 1/16.
    np.testing.assert_allclose(theta, np.array(edges), rtol=1e-7, atol=1e-6)


def test_what_is_no_number_ends():
    space = space_of(ORDERED)
    assert not np.all(np.isfinite(space.constrain(jnp.full(3, jnp.nan))))
    assert not np.all(np.isfinite(space.constrain(jnp.full(3, jnp.inf))))


def test_names_keep_their_order_and_values():
    space = NAMED
    assert space.names == ("sigma", "mu", "alpha")  # jax sorts the keys of dicts
    assert space.shapes == ((), (2,), ())
    theta = {"alpha": 5.5, "mu": jnp.array([101.0, -99.0]), "sigma": 2.0}
    again = eqx.filter_jit(space.constrain)(eqx.filter_jit(space.unconstrain)(theta))
    np.testing.assert_allclose(again["mu"], [101, -99], rtol=1e-6)
    np.testing.assert_allclose([again["alpha"], again["sigma"]], [5.5, 2], rtol=1e-6)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        ({"mu": [1.0, 2.0]}, TypeError, "names"),
        ({"mu": [1.0, 2.0], "sigma": 1.0, "alfa": 5.0}, TypeError, "alfa"),
        (3.0, TypeError, "dict"),
        ({"mu": [1.0], "sigma": 1.0, "alpha": 5.0}, ValueError, r"theta\['mu'\].*\(2,\)"),
        ({"mu": 1.0, "sigma": 1.0, "alpha": 5.0}, ValueError, r"theta\['mu'\].*\(2,\)"),
        ({"mu": [1.0, 2.0], "sigma": [1.0], "alpha": 5.0}, ValueError, "batch"),
        ({"mu": [1.0, 2.0], "sigma": "1", "alpha": 5.0}, TypeError, r"theta\['sigma'\].*real"),
        ({"mu": [1.0, 2.0j], "sigma": 1.0, "alpha": 5.0}, TypeError, r"theta\['mu'\].*real"),
        ({"mu": [[1.0, 2.0], [1.0]], "sigma": 1.0, "alpha": 5.0}, ValueError, "ragged"),
    ],
)
def test_a_theta_of_another_form_is_refused(theta, error, message):
    with pytest.raises(error, match=message):
        NAMED.read(theta)


@pytest.mark.wrong_types
def test_a_single_distribution_takes_no_dict():
    with pytest.raises(TypeError, match="one array"):
        space_of(dist.Normal(0, 1)).read({"theta": 1.0})
