"""The i-projection finds a target that its family contains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from pliant.densities.gaussian import gaussian_from_moments
from pliant.densities.reverse import reverse_project


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_tilted_gaussian_is_a_shifted_gaussian(shift):
    """N(0, 1) with the weights exp(shift z) is N(shift, 1)."""
    proposal = gaussian_from_moments(np.zeros(1), np.eye(1))
    z = proposal.sample(jax.random.key(0), 4000)
    log_weights = shift * z[:, 0]
    model, info = reverse_project(
        jax.random.key(1), pliant.Gaussian(), z, log_weights, proposal, None
    )
    draws = model.sample(jax.random.key(2), 20_000)
    # the objective is an average over 4000 weighted samples
    assert float(jnp.mean(draws)) == pytest.approx(shift, abs=0.12)
    assert float(jnp.std(draws)) == pytest.approx(1.0, abs=0.12)
    assert np.isfinite(float(info["held_out"]))
