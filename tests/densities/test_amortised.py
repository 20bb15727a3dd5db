"""An amortised density is its conditional flow at the embedding of the observations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from pliant.densities.amortised import AmortisedDensity
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.problem.scale import fit_squash

OBSERVED = jax.random.normal(jax.random.key(0), (12, 3))


@pytest.fixture(scope="module")
def density():
    keys = jax.random.split(jax.random.key(1), 3)
    flow = ConditionalFlow(keys[0], dim=2, condition_dim=4, layers=2, bins=4, width=8)
    leaves, structure = jax.tree.flatten(eqx.filter(flow, eqx.is_array))
    moved = [
        leaf + 0.3 * jax.random.normal(k, leaf.shape)
        for leaf, k in zip(leaves, jax.random.split(keys[2], len(leaves)), strict=True)
    ]
    flow = eqx.combine(jax.tree.unflatten(structure, moved), flow)
    network = pliant.DeepSet(features=4, width=8).build(keys[1], (12, 3))
    observed = np.asarray(OBSERVED)
    return AmortisedDensity(flow, network, fit_squash(observed, observed), OBSERVED)


def test_it_is_the_flow_at_the_embedding(density):
    z = jax.random.normal(jax.random.key(2), (5, 2))
    condition = density.network(density.squash(OBSERVED))
    expected = density.flow.log_prob(z.T, jnp.tile(condition[:, None], (1, 5)))
    np.testing.assert_allclose(density.log_prob(z), expected, rtol=1e-5, atol=1e-5)
    assert density.sample(jax.random.key(3), 7).shape == (7, density.dim)


def test_other_observations_give_another_density(density):
    other = eqx.tree_at(lambda d: d.observed, density, OBSERVED + 3.0)
    z = jnp.zeros((1, 2))
    assert abs(float(other.log_prob(z)[0] - density.log_prob(z)[0])) > 1e-3
