"""The contracts of densities and families: what a class of one's own must define."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.densities.base import (
    AbstractDensity,
    AbstractFamily,
    AbstractModel,
    AbstractModelFamily,
    is_finite,
)
from pliant.densities.gaussian import GaussianDensity
from pliant.densities.training import Training


class Cube(AbstractDensity):
    """Uniform on the unit square."""

    @property
    def dim(self):
        return 2

    def sample(self, key, n):
        return jax.random.uniform(key, (n, 2))

    def log_prob(self, z):
        return jnp.where(jnp.all((z >= 0) & (z <= 1), axis=1), 0.0, -jnp.inf)


class CubeWithoutDraw(Cube, AbstractModel):
    """All but what a model has beyond a density."""


class FamilyWithoutTraining(AbstractModelFamily):
    def fit(self, key, z, log_weights, init):
        return Cube(), {}


class Cubes(AbstractModelFamily):
    reverse_training: Training = Training(steps=1)

    def fit(self, key, z, log_weights, init):
        return Cube(), {}


@pytest.mark.parametrize(
    ("unfinished", "missing"),
    [
        (AbstractDensity, "dim.*log_prob.*sample"),
        (AbstractModel, "dim.*draw.*log_prob.*sample.*stretched"),
        (CubeWithoutDraw, "draw.*stretched"),
        (AbstractFamily, "fit"),
        (FamilyWithoutTraining, "reverse_training"),
    ],
)
def test_a_class_that_is_not_finished_cannot_be_instantiated(unfinished, missing):
    with pytest.raises(TypeError, match=f"abstract.*{missing}"):
        unfinished()


def test_a_finished_class_can_be_used():
    density, info = Cubes().fit(jax.random.key(0), jnp.zeros((4, 2)), jnp.zeros(4), None)
    assert info == {}
    assert not isinstance(density, AbstractModel)  # it can be a proposal, but not be trained
    np.testing.assert_array_equal(density.log_prob(density.sample(jax.random.key(1), 50)), 0.0)


def test_gradients_of_draws_are_those_of_the_expectation():
    """``E_q[z^2] = m^2 + s^2``: its gradients by m and log s are 2 m and 2 s^2."""
    model = GaussianDensity(jnp.array([0.7]), jnp.log(jnp.array([1.5])), jnp.zeros((1, 1)))

    def second_moment(model: Any):
        z, log_weights = model.draw(jax.random.key(0), 20_000)
        return jnp.mean(jnp.exp(log_weights) * z[:, 0] ** 2)

    gradient = jax.grad(second_moment)(model)
    # four standard errors of 20,000 draws: 2 s noise for the mean, 2 s^2 noise^2 for the spread
    assert float(gradient.mean[0]) == pytest.approx(2 * 0.7, abs=0.1)
    assert float(gradient.log_diagonal[0]) == pytest.approx(2 * 1.5**2, abs=0.2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_density_is_finite_if_all_its_parameters_are(bad):
    good = GaussianDensity(jnp.zeros(2), jnp.zeros(2), jnp.zeros((2, 2)))
    assert is_finite(good)
    assert is_finite(Cube())
    assert not is_finite(GaussianDensity(jnp.array([0.0, bad]), jnp.zeros(2), jnp.zeros((2, 2))))
