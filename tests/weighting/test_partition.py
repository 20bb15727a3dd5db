"""The partition function against loops in double precision, and its fit against known functions."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import logsumexp

import pliant
from pliant.discrepancies.base import Evaluation, Particles
from pliant.discrepancies.learned import LearnedState
from pliant.discrepancies.measured import MeasuredState
from pliant.weighting import partition as module
from pliant.weighting.partition import PartitionFunction, predicted

BETA = 0.04
KERNEL = pliant.ExponentialKernel()


def one_point(scale=None, observed=None):
    """Every draw is (3, -1), and so is the centre of the box."""
    return pliant.Problem(
        {"mu": dist.Normal(0, 1)},
        lambda key, theta: jnp.array([3.0, -1.0]) + 0 * theta["mu"],
        np.zeros((8, 2)) if observed is None else observed,
        scale=scale,
    )


PROBLEM = one_point()


def prepared(discrepancy, n_sets, problem=PROBLEM, kernel=KERNEL, **options):
    state = MeasuredState(discrepancy, discrepancy.prepare(problem.observed))
    options = PartitionFunction(n_sets, **options)
    return options.prepare(jax.random.key(0), problem, state, kernel, BETA)[0]


def sets(n, n_draws=5, seed=0):
    """Simulated sets near the box, some of whose draws are not usable."""
    rng = np.random.default_rng(seed)
    x = rng.normal([3.0, -1.0], 0.5, size=(n, n_draws, 2)).astype(np.float32)
    ok = rng.random((n, n_draws)) < 0.7
    ok[:, :2] = True
    return jnp.asarray(x), jnp.asarray(ok)


def references(partition):
    found = [partition.reference_set(i) for i in range(partition.options.n_sets)]
    return np.asarray(found, np.float64)


def squared_error(y, x):
    return np.sum((x.mean(axis=0) - y.mean(axis=0)) ** 2)


def energy(y, x):
    def mean_distance(a, b, pairs):
        return np.linalg.norm(a[:, None] - b[None], axis=-1).sum() / pairs

    n, m = len(y), len(x)
    within = mean_distance(x, x, m * (m - 1)) + mean_distance(y, y, n * (n - 1))
    return 2 * mean_distance(x, y, n * m) - within


def mmd(y, x):
    def kernel(a, b):
        squared = np.sum((a[:, None] - b[None]) ** 2, axis=-1)
        return np.exp(-squared / (2 * 0.5)) + np.exp(-squared / (2 * 3.0))

    n, m = len(y), len(x)
    xx = (kernel(x, x).sum() - 2 * m) / (m * (m - 1))
    yy = (kernel(y, y).sum() - 2 * n) / (n * (n - 1))
    return xx + yy - 2 * kernel(x, y).mean()


DISTANCES = {
    "euclidean": (pliant.Euclidean(), squared_error),
    "energy": (pliant.Energy(), energy),
    "mmd": (pliant.MMD(lengthscales=(0.5, 3.0)), mmd),
}


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("exponent", ["main", "appendix"])
@pytest.mark.parametrize("box", ["paper", "data"])
def test_values_are_mean_kernels_over_the_reference_sets(name, exponent, box):
    discrepancy, distance = DISTANCES[name]
    partition = prepared(discrepancy, 37, exponent=exponent, box=box)
    x, ok = sets(6)
    width = {"main": 2 * BETA, "appendix": BETA}[exponent]
    expected = []
    for draws, usable in zip(np.asarray(x, np.float64), np.asarray(ok), strict=True):
        distances = np.array([distance(y, draws[usable]) for y in references(partition)])
        expected.append(np.log(np.mean(np.exp(-distances / width))))
    # single precision of distances of order one to ten, over 0.04
    np.testing.assert_allclose(partition.log_values(x, ok), expected, rtol=1e-4, atol=1e-3)


def test_other_kernels_are_used_as_they_are():
    partition = prepared(pliant.Euclidean(), 20, kernel=pliant.GaussianKernel())
    x, ok = sets(4)
    expected = []
    for draws, usable in zip(np.asarray(x, np.float64), np.asarray(ok), strict=True):
        distances = np.array([squared_error(y, draws[usable]) for y in references(partition)])
        expected.append(logsumexp(-((distances / BETA) ** 2) / 2) - np.log(20))
    np.testing.assert_allclose(partition.log_values(x, ok), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match=r"exponent: .appendix. .*got GaussianKernel"):
        prepared(pliant.Euclidean(), 20, kernel=pliant.GaussianKernel(), exponent="appendix")


def test_a_set_without_usable_draws_has_no_value():
    x, ok = sets(3)
    found = prepared(pliant.Energy(), 20).log_values(x, ok.at[1].set(False))
    np.testing.assert_array_equal(np.isfinite(found), [True, False, True])


@pytest.mark.default_flags
@pytest.mark.parametrize("name", ["mmd", "wasserstein"])
def test_the_chunk_size_changes_no_bit(name):
    discrepancy = {"mmd": pliant.MMD(), "wasserstein": pliant.Wasserstein()}[name]
    partition = prepared(discrepancy, 19)  # not a multiple of the block
    x, ok = sets(60, n_draws=10)
    whole = partition.log_values(x, ok)
    for chunk in (slice(20), slice(20, 40), slice(40, 60), slice(59, 60)):
        np.testing.assert_array_equal(partition.log_values(x[chunk], ok[chunk]), whole[chunk])


def test_a_value_goes_on_from_the_sets_before():
    """The first sets are the same for any number of them, whichever block they are in."""
    x, ok = sets(5)
    found = {n: prepared(pliant.Energy(), n).log_values(x, ok) + np.log(n) for n in (16, 17, 33)}
    assert np.all(found[16] < found[17])
    assert np.all(found[17] < found[33])
    two = prepared(pliant.Energy(), 33)
    alone = [
        energy(np.asarray(two.reference_set(16), float), np.asarray(s)[o])
        for s, o in zip(x, ok, strict=True)
    ]
    added = np.logaddexp(found[16], -np.array(alone) / (2 * BETA))
    np.testing.assert_allclose(found[17], added, rtol=1e-4, atol=1e-4)


def test_the_state_holds_no_sets():
    """A checkpoint is as small for a billion sets as for five."""
    few, many = prepared(pliant.MMD(), 5), prepared(pliant.MMD(), 10**9)
    sizes = [
        [leaf.size for leaf in jax.tree.leaves(p) if hasattr(leaf, "size")] for p in (few, many)
    ]
    assert sizes[0] == sizes[1]
    assert sum(sizes[0]) <= 5  # a key and two corners


def test_the_box_of_the_paper_is_around_the_simulations():
    """Uniform within five square roots of beta, in units of the features' divisors."""
    for scale in (None, np.array([2.0, 0.5])):
        points = references(prepared(pliant.Energy(scale=scale), 40))
        assert points.shape == (40, 8, 2)
        offsets = (points - [3.0, -1.0]) / (5 * BETA**0.5 * (1 if scale is None else scale))
        assert np.abs(offsets).max() <= 1 + 1e-6
        # 640 uniform numbers: four standard errors of their mean and of their mean square
        assert offsets.mean() == pytest.approx(0, abs=4 * (1 / 3 / 640) ** 0.5)
        assert np.mean(offsets**2) == pytest.approx(1 / 3, abs=4 * (4 / 45 / 640) ** 0.5)


def test_the_box_of_the_data_holds_simulations_and_observations():
    observed = np.random.default_rng(0).normal([0.0, 2.0], [1.0, 0.1], size=(50, 2))
    partition = prepared(pliant.Energy(), 4, problem=one_point(observed=observed), box="data")
    centre, half = observed.mean(axis=0), 3 * observed.std(axis=0)
    # every simulation is (3, -1): a point without width
    low, high = np.minimum(centre - half, [3, -1]), np.maximum(centre + half, [3, -1])
    np.testing.assert_allclose(partition.low, low, rtol=1e-5)
    np.testing.assert_allclose(partition.high, high, rtol=1e-5)


# --- From some particles to all of them ---------------------------------------------------------


def quadratic(z):
    return 3 - 2 * z[:, 0] + z[:, 1] ** 2 + 1.5 * z[:, 0] * z[:, 2] - z[:, 2] ** 2


def test_a_quadratic_function_is_found_everywhere():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(1000, 3)) @ np.array([[2, 1, 0], [0, 0.1, 0], [0, 0, 5]])
    values = quadratic(z)[:100]
    found, quality = predicted(z, values)
    inside = (quadratic(z) >= values.min()) & (quadratic(z) <= values.max())
    assert inside.mean() > 0.9
    np.testing.assert_allclose(found[inside], quadratic(z)[inside], atol=0.01 * values.std())
    assert found.min() >= values.min()
    assert found.max() <= values.max()
    assert quality == pytest.approx(1, abs=1e-3)


def test_the_fit_averages_the_noise_of_single_values():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(500, 3))
    exact = quadratic(z)
    values = exact[:200] + exact.std() * rng.normal(size=200)
    found, quality = predicted(z, values)
    # ten coefficients of 200 values: the noise falls to (10 / 200)^0.5 = 0.22 of its size
    assert np.std(found - exact) < 0.4 * exact.std()
    assert quality == pytest.approx(0.5, abs=0.15)  # half of the variance is noise


def test_leave_one_out_quality_is_that_of_refitting(monkeypatch):
    rng = np.random.default_rng(2)
    z, noise = rng.normal(size=(30, 2)), rng.normal(size=30)
    values = z @ [1.0, -1.0] + 0.5 * noise
    monkeypatch.setattr(module, "_RIDGES", (0.0,))
    _, quality = predicted(z, values)
    errors = {1: [], 2: []}
    for degree, found in errors.items():
        squares = [z[:, :1] ** 2, z[:, 1:] ** 2, z[:, :1] * z[:, 1:]] if degree == 2 else []
        features = np.hstack([np.ones((30, 1)), z, *squares])
        for i in range(30):
            rest = np.arange(30) != i
            coefficients = np.linalg.lstsq(features[rest], values[rest], rcond=None)[0]
            found.append((values[i] - features[i] @ coefficients) ** 2)
    expected = 1 - min(np.mean(found) for found in errors.values()) / values.var()
    assert quality == pytest.approx(expected, rel=1e-6)


def test_few_values_give_a_line_or_a_constant():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(200, 8))  # a quadratic has 45 coefficients
    found, quality = predicted(z, z[:25] @ np.arange(8.0))
    inside = np.abs(z @ np.arange(8.0)) < 15
    np.testing.assert_allclose(found[inside], (z @ np.arange(8.0))[inside], atol=0.5)
    assert quality > 0.99
    for values in (np.array([2.0]), np.array([1.0, 3.0]), np.full(50, 2.0)):
        found, quality = predicted(z, values)
        np.testing.assert_array_equal(found, 2.0)
        assert np.isnan(quality)
    found, quality = predicted(z, np.full(5, -np.inf))
    assert not found.any()


def test_values_that_are_not_finite_are_left_out():
    z = np.random.default_rng(4).normal(size=(300, 3))
    values = quadratic(z)[:100]
    values[:5] = -np.inf
    found, quality = predicted(z, values)
    assert np.all(np.isfinite(found))
    assert quality > 0.99


def evaluation(z, values):
    zeros = np.zeros(len(z))
    particles = Particles(z, zeros, zeros, zeros, zeros)
    return Evaluation(particles, None, 0, {"usable": 1.0}, np.zeros((0, 8)), values)


def test_all_particles_keep_their_own_values_and_some_are_fitted():
    z = np.random.default_rng(5).normal(size=(400, 3))
    exact = quadratic(z)
    everywhere = prepared(pliant.Energy(), 3, n_particles=None)
    found = everywhere.corrected(evaluation(z, exact))
    np.testing.assert_array_equal(found.particles.log_partition, exact)
    assert found.row == {"usable": 1.0}
    unknown = exact.copy()
    unknown[3] = -np.inf
    found = everywhere.corrected(evaluation(z, unknown)).particles.log_partition
    assert found[3] == np.delete(exact, 3).min()

    some = prepared(pliant.Energy(), 3, n_particles=150)
    found = some.corrected(evaluation(z, exact[:150]))
    expected, quality = predicted(z, exact[:150])
    np.testing.assert_array_equal(found.particles.log_partition, expected)
    assert found.row == {"usable": 1.0, "partition_fit": quality}
    clamped = np.clip(exact, exact[:150].min(), exact[:150].max())
    np.testing.assert_allclose(found.particles.log_partition, clamped, atol=0.02 * exact.std())


# --- Mistakes ----------------------------------------------------------------------------------


def test_a_learned_likelihood_is_refused():
    state = LearnedState(ensemble=None)
    with pytest.raises(ValueError, match="partition: a learned likelihood is normalised"):
        PartitionFunction().prepare(jax.random.key(0), PROBLEM, state, KERNEL, BETA)


@pytest.mark.parametrize(
    "options",
    [{"n_sets": 0}, {"n_particles": 0}, {"exponent": "half"}, {"box": "wide"}],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.wrong_types
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}: expected"):
        PartitionFunction(**options)
