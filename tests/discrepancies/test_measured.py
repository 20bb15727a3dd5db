"""Measured distances of a round's parameters: sets, chunks, noise, influences and columns."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.discrepancies.base import AbstractPartition, RoundOptions
from pliant.discrepancies.energy import Energy
from pliant.discrepancies.measured import (
    AbstractMeasuredDiscrepancy,
    AbstractWeighableDiscrepancy,
    MeasuredState,
    measure_parameters,
)
from pliant.discrepancies.mmd import MMD
from pliant.problem.sets import simulate_sets

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 2)},
    lambda key, theta: theta["mu"] + jax.random.normal(key, (2,)),
    np.random.default_rng(0).normal(size=(12, 2)),
    scale=None,
)
KEY = jax.random.key(2)
Z = PROBLEM.prior.sample(jax.random.key(1), 60)


class SumOfDraws(AbstractPartition):
    most: int | None = None

    @property
    def n_particles(self):
        return self.most

    def log_values(self, x, ok):
        return np.asarray(x, np.float64).sum(axis=(1, 2))


def measured(discrepancy, z=Z, n_draws=10, **options):
    state = MeasuredState(discrepancy, discrepancy.prepare(PROBLEM.observed))
    return measure_parameters(KEY, PROBLEM, state, z, RoundOptions(n_draws, **options))


class DistanceWithoutScale(AbstractMeasuredDiscrepancy):
    min_draws = 1

    def prepare(self, observed):
        return observed

    def measure(self, prepared, x, ok):
        return jnp.zeros(len(x)), {}


@pytest.mark.parametrize(
    ("unfinished", "missing"),
    [
        (AbstractMeasuredDiscrepancy, "measure.*prepare"),
        (AbstractWeighableDiscrepancy, "influences.*measure.*prepare"),
        (DistanceWithoutScale, "scale"),
    ],
)
def test_a_class_that_is_not_finished_cannot_be_instantiated(unfinished, missing):
    with pytest.raises(TypeError, match=f"abstract.*{missing}"):
        unfinished()


def test_distances_and_partition_functions_are_those_of_each_set():
    found = measured(Energy(), chunk_size=7, partition=SumOfDraws())
    x, ok, *_ = simulate_sets(jax.random.fold_in(KEY, 0), PROBLEM, Z, 10)
    y = np.asarray(PROBLEM.observed, np.float64)

    def mean_distance(a, b, pairs):
        return np.linalg.norm(a[:, None] - b, axis=-1).sum() / pairs

    for k, draws in enumerate(x.astype(np.float64)):
        within = mean_distance(draws, draws, 90) + mean_distance(y, y, 132)
        expected = 2 * mean_distance(draws, y, 120) - within
        assert found.distance[k] == pytest.approx(expected, abs=1e-5)  # single precision
    sums = x.sum(axis=(1, 2))
    np.testing.assert_allclose(found.log_partition, sums, rtol=1e-4, atol=1e-4)
    for some in (3, 7, 25):  # less than a chunk, a chunk, more
        first = measured(Energy(), chunk_size=7, partition=SumOfDraws(some)).log_partition
        np.testing.assert_allclose(first, sums[:some], rtol=1e-4, atol=1e-4)
    assert not measured(Energy()).log_partition.size
    assert ok.all()
    assert found.row["usable"] == 1


@pytest.mark.default_flags
@pytest.mark.parametrize("name", ["mmd", "wasserstein", "energy"])
def test_the_chunk_size_changes_no_bit(name):
    options = {"mmd": pliant.MMD(), "wasserstein": pliant.Wasserstein(), "energy": Energy()}
    whole = measured(options[name], influences=True)
    for chunk_size in (7, 20, 60):
        found = measured(options[name], chunk_size=chunk_size, influences=True)
        np.testing.assert_array_equal(found.distance, whole.distance)
        np.testing.assert_array_equal(found.influences, whole.influences)
        assert found.row == whole.row  # the noise of the distances too
    assert whole.influences.shape == (0 if name == "wasserstein" else 60, 12)


def test_the_standard_error_is_that_of_repeated_simulation():
    """Split halves of one set of draws tell how distances of new sets would spread."""
    found = measured(pliant.MMD(), jnp.tile(Z[:1], (256, 1)), 20)
    # both are estimated from 256 sets: relative errors of some ten per cent
    assert found.row["distance_se"] == pytest.approx(found.distance.std(), rel=0.3)


def test_counts_of_a_measurement_reach_its_row():
    few = measured(pliant.Wasserstein(regularisation=0.01, max_iterations=10))
    assert few.row["unconverged"] > 30  # of 60
    assert measured(pliant.Wasserstein(max_iterations=5000)).row["unconverged"] == 0


def test_too_few_draws_for_the_discrepancy():
    with pytest.raises(ValueError, match=r"n_draws: MMD needs at least 2 .*Euclidean"):
        pliant.MMD().init(KEY, PROBLEM, 1)
    state, simulations = pliant.Euclidean().init(KEY, PROBLEM, 1)
    assert isinstance(state, MeasuredState)
    assert simulations == 0


@pytest.mark.parametrize(
    ("budget", "sizes"),
    [
        (100, (7, 5, 6)),  # never fewer than five draws
        (5000, (7, 35, 6)),  # twenty particles get the share of a round
        (20_000, (7, 50, 6)),  # fifty draws, then more particles
        (1_000_000, (7, 100, 6)),  # more draws again, of a thousand particles
    ],
)
def test_a_budget_is_shared_out_among_few_rounds(budget, sizes):
    assert Energy().budgeted_sizes(PROBLEM, 20, budget) == sizes


@pytest.mark.parametrize("discrepancy", [MMD(lengthscales=(1.0, 4.0)), Energy()], ids=["mmd", "e"])
def test_influences_are_mean_kernels(discrepancy):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(3, 7, 2)), rng.normal(size=(5, 2))
    ok = rng.random((3, 7)) < 0.7
    squared = np.sum((x[:, :, None] - y) ** 2, axis=-1)
    kernel = -np.sqrt(squared)
    if isinstance(discrepancy, MMD):
        kernel = np.exp(-squared / 2) + np.exp(-squared / 8)
    expected = -2 * (kernel * ok[..., None]).sum(axis=1) / ok.sum(axis=1)[:, None]
    state = discrepancy.prepare(jnp.asarray(y, float))
    broken = np.where(ok[..., None], x, np.nan)
    found = discrepancy.influences(state, jnp.asarray(broken, float), jnp.asarray(ok))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)
