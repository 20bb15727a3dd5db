import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn
from scipy.special import logsumexp

from pliant.discrepancies.wasserstein import Wasserstein

KEY = jax.random.key(0)


def random_sets(K, M, N, d, seed=0):
    """Sets of other places and spreads than the observed."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.3, 1.5, size=(K, 1, 1))
    x = spread * rng.normal(size=(K, M, d)) + 2 * rng.normal(size=(K, 1, d))
    return jnp.asarray(x, jnp.float32), jnp.asarray(rng.normal(size=(N, d)), jnp.float32)


def measure(discrepancy, observed, x, ok=None):
    ok = jnp.ones(x.shape[:2], bool) if ok is None else ok
    distances, counts = discrepancy.measure(discrepancy.prepare(observed), x, ok)
    return np.asarray(distances), int(counts["unconverged"].sum())


def squared_distances(x, y):
    return np.square(np.asarray(x, float)[:, None] - np.asarray(y, float)).sum(-1)


def plain_sinkhorn(x, y, epsilon):
    """The transport cost by Sinkhorn iterations on the potentials, in float64."""
    costs = squared_distances(x, y) / epsilon
    M, N = costs.shape
    f, g = np.zeros(M), np.zeros(N)
    for _ in range(1000):
        f = -logsumexp(g - costs, axis=1) - np.log(M)
        g = -logsumexp(f[:, None] - costs, axis=0) - np.log(N)
    plan = np.exp(f[:, None] + g - costs)
    np.testing.assert_allclose(plan.sum(1), 1 / M, rtol=1e-3)  # it has converged
    return epsilon * (plan * costs).sum()


@pytest.mark.parametrize(("M", "N", "d"), [(20, 20, 3), (13, 30, 2), (5, 1, 3), (1, 6, 3)])
def test_costs_of_converged_plans(M, N, d):
    x, observed = random_sets(4, M, N, d)
    discrepancy = Wasserstein(tolerance=1e-4)
    distances, unconverged = measure(discrepancy, observed, x)
    epsilon = float(discrepancy.prepare(observed).epsilon)
    expected = [plain_sinkhorn(s, observed, epsilon) for s in x]
    # An error of 1e-4 in the marginals moves a cost by about as much of itself.
    np.testing.assert_allclose(distances, expected, rtol=2e-4)
    assert unconverged == 0


def test_costs_of_masked_sets():
    x, observed = random_sets(4, 25, 18, 3)
    ok = np.random.default_rng(1).random((4, 25)) < 0.6
    discrepancy = Wasserstein(tolerance=1e-4)
    distances, _ = measure(discrepancy, observed, x, jnp.asarray(ok))
    epsilon = float(discrepancy.prepare(observed).epsilon)
    expected = [
        plain_sinkhorn(s[o], observed, epsilon) for s, o in zip(np.asarray(x), ok, strict=True)
    ]
    np.testing.assert_allclose(distances, expected, rtol=2e-4)


@pytest.mark.user_code  # ott promotes ranks
def test_costs_against_ott():
    x, observed = random_sets(6, 40, 30, 4)
    discrepancy = Wasserstein(tolerance=1e-4)
    distances, _ = measure(discrepancy, observed, x)
    epsilon = discrepancy.prepare(observed).epsilon

    def cost(x):
        geometry = pointcloud.PointCloud(x, observed, epsilon=epsilon)
        solver = sinkhorn.Sinkhorn(threshold=1e-4, max_iterations=5000)
        return solver(linear_problem.LinearProblem(geometry)).primal_cost

    # Both stop at an error of 1e-4 in the marginals, each on its own side.
    np.testing.assert_allclose(distances, jax.jit(jax.vmap(cost))(x), rtol=5e-4)


def test_little_regularisation_tends_to_exact_transport_from_above():
    x, observed = random_sets(4, 20, 20, 3)
    exact = np.array([ot.emd2([], [], squared_distances(s, observed)) for s in x])
    gaps = []
    for regularisation in (0.1, 0.02, 0.005):
        discrepancy = Wasserstein(
            regularisation=regularisation, tolerance=1e-4, max_iterations=20_000
        )
        distances, unconverged = measure(discrepancy, observed, x)
        assert unconverged == 0
        # The marginals are met to 1e-4, and so the bound is.
        assert (distances > exact * (1 - 2e-4)).all()
        gaps.append(distances / exact - 1)
    # A blur of epsilon costs about epsilon d / 2, of costs of three to thirty.
    assert (gaps[0] > gaps[1]).all()
    assert (gaps[1] > gaps[2] - 2e-4).all()
    assert gaps[2].max() < 0.02


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_costs_follow_the_unit(factor):
    x, observed = random_sets(4, 20, 15, 3)
    distances, _ = measure(Wasserstein(), observed, x)
    other, _ = measure(Wasserstein(), factor * observed, factor * x)
    # The same plans, up to the iteration at which rounding lets them stop.
    np.testing.assert_allclose(other / factor**2, distances, rtol=1e-3)


@pytest.mark.parametrize("spread", [1e-3, 30.0, 1e3])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_sets_unlike_the_observed_neither_overflow_nor_underflow(spread, shift):
    rng = np.random.default_rng(3)
    observed = jnp.asarray(rng.normal(size=(40, 3)), jnp.float32)
    x = jnp.asarray(spread * rng.normal(size=(2, 30, 3)) + shift, jnp.float32)
    distances, unconverged = measure(Wasserstein(), observed, x)
    exact = [ot.emd2([], [], squared_distances(s, observed)) for s in x]
    # The regularisation of 0.05 times six adds about 0.3, the last temperature of an annealed set
    # some 1e-4, and the tolerance 1e-3 of the cost.
    np.testing.assert_allclose(distances, exact, rtol=3e-3, atol=0.6)
    assert unconverged == 0


def test_plans_that_miss_the_tolerance_are_counted():
    x, observed = random_sets(8, 20, 20, 3)
    ok = jnp.ones((8, 20), bool).at[0].set(False)
    discrepancy = Wasserstein(regularisation=0.01, max_iterations=10)
    distances, unconverged = measure(discrepancy, observed, x, ok)
    assert 4 < unconverged <= 7  # the first set has no usable draw
    assert np.isfinite(distances[1:]).all()
    assert measure(Wasserstein(max_iterations=5000), observed, x, ok)[1] == 0


def test_regularisation_is_relative_to_the_observations_alone():
    _, observed = random_sets(1, 2, 30, 3)
    squared = squared_distances(observed, observed)
    expected = 0.05 * squared.sum() / (30 * 29)
    # float32 sums of ninety squares
    assert float(Wasserstein().prepare(observed).epsilon) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("N", [1, 4])
def test_observations_without_spread_cost_the_mean_squared_distance(N):
    x, _ = random_sets(3, 20, 1, 3)
    distances, unconverged = measure(Wasserstein(), jnp.ones((N, 3)), x)
    assert Wasserstein().prepare(jnp.ones((N, 3))).epsilon == 1
    assert unconverged == 0
    expected = np.square(np.asarray(x, float) - 1).sum(-1).mean(-1)
    np.testing.assert_allclose(distances, expected, rtol=1e-5)  # a product of float32 sums
