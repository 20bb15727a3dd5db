"""The table, the histograms, and the modes of draws."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from known_posteriors import gaussian
from pliant.densities.particles import particle_density
from pliant.problem.prior import read_prior
from pliant.reporting.marginals import (
    DrawTable,
    effective_draws,
    histogram,
    marginals,
    mode_labels,
    mode_rows,
    n_plotted,
    plotted,
    posterior_rows,
    rounded,
)


def test_draws_of_particles_are_worth_less():
    assert effective_draws(gaussian([0.0], [[1.0]]), 10_000) == 10_000
    rng = np.random.default_rng(0)
    particles = particle_density(rng.normal(size=(100, 1)), np.zeros(100))
    assert effective_draws(particles, 10_000) == pytest.approx(1 / (1 / 10_000 + 1 / 100), rel=1e-5)


def test_columns_that_nobody_knows_are_left_out():
    draws = DrawTable(["a"], np.arange(101.0)[:, None])
    (row,) = posterior_rows(draws, effective=25.0)
    assert set(row) == {"name", "mean", "sd", "q025", "q05", "q50", "q95", "q975", "mcse"}
    assert (row["mean"], row["q50"], row["q05"]) == (50.0, 50.0, 5.0)
    assert row["mcse"] == pytest.approx(row["sd"] / 5)


@pytest.mark.parametrize("values", [np.full(10, 3.0), np.zeros(10), np.r_[np.zeros(999), 1.0]])
def test_a_histogram_of_equal_draws_has_a_width(values):
    found = histogram(values)
    assert np.all(np.diff(found["edges"]) >= 0)
    assert found["edges"][-1] > found["edges"][0]
    assert max(found["heights"]) == 1.0


def test_numbers_are_short_and_finite():
    assert rounded([1.2345678, np.inf, np.nan, -0.000123456]) == [1.2346, None, None, -0.00012346]


def test_figures_of_many_parameters_have_fewer_draws():
    assert (n_plotted(30), n_plotted(31)) == (1000, 500)
    draws = DrawTable([f"a{i}" for i in range(80)], np.zeros((10_000, 80)))
    assert np.array(plotted(draws)).shape == (60, 500)
    assert len(marginals({"posterior": draws}, None)) == 60


def test_modes_are_found_also_if_draws_repeat():
    space = read_prior({"a": dist.Normal(0.0, 1.0)}).space
    rng = np.random.default_rng(0)
    a = np.r_[rng.normal(-1, 0.02, 150), rng.normal(1, 0.02, 50)]
    labels = mode_labels({"a": np.repeat(a, 5)}, space)
    np.testing.assert_array_equal(labels, np.repeat((a > 0).astype(int), 5))
    rows = mode_rows(labels, np.repeat(a, 5)[:, None], ["a"])
    assert [row["share"] for row in rows] == [0.75, 0.25]
    assert rows[0]["centre"]["a"] == pytest.approx(-1.0, abs=0.01)


def test_a_single_particle_has_no_modes():
    space = read_prior(dist.Normal(jnp.zeros(2), 1.0).to_event(1)).space
    labels = mode_labels({"theta": np.ones((20, 2))}, space)
    assert set(labels) == {-1}
    assert mode_rows(labels, np.ones((20, 2)), ["theta[0]", "theta[1]"]) == []
