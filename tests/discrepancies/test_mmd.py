import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.mmd import LENGTHSCALES, MMD, product_plan

KEY = jax.random.key(0)


def kernel_means(x, y, lengthscales):
    """Means of the kernel over pairs of two sets, or of different points of one set."""
    squared = np.square(x[:, None] - y[None]).sum(-1)
    k = np.sum([np.exp(-squared / (2 * length)) for length in lengthscales], axis=0)
    return (k.sum() - np.trace(k)) / (k.size - len(k)) if x is y else k.mean()


def plain_mmd(x, y, lengthscales=LENGTHSCALES):
    """The appendix's formula in float64."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    within = kernel_means(y, y, lengthscales) if len(y) > 1 else len(lengthscales)
    return kernel_means(x, x, lengthscales) + within - 2 * kernel_means(x, y, lengthscales)


def random_sets(K, M, N, d, spread, seed=0):
    rng = np.random.default_rng(seed)
    observed = spread * rng.normal(size=(N, d)) + 7
    shifts = np.linspace(0, spread, K)[:, None, None] * rng.normal(size=(K, 1, d))
    x = spread * rng.normal(size=(K, M, d)) + 7 + shifts
    return jnp.asarray(x, jnp.float32), jnp.asarray(observed, jnp.float32)


def measure(discrepancy, observed, x, ok=None):
    ok = jnp.ones(x.shape[:2], bool) if ok is None else ok
    return np.asarray(discrepancy.measure(discrepancy.prepare(observed), x, ok)[0])


# Weights are exp(-D / 1e-3), so an error of 3e-6 in D is one of 0.3 % in a weight. Measured errors
# are ten times smaller.
@pytest.mark.parametrize("lengthscales", [LENGTHSCALES, PAPER_LENGTHSCALES], ids=["own", "paper"])
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("d", [2, 17])
def test_kernels_to_float32_rounding(d, spread, lengthscales):
    x, observed = random_sets(5, 100, 100, d, spread)
    expected = [plain_mmd(s, observed, lengthscales) for s in x]
    found = measure(MMD(lengthscales=lengthscales), observed, x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert MMD().lengthscales == LENGTHSCALES


@pytest.mark.parametrize(
    ("M", "N", "d"), [(2, 2, 3), (2, 1, 3), (7, 30, 3), (2, 1, 30), (65, 12, 30), (600, 530, 30)]
)
def test_sets_of_different_sizes(M, N, d):
    x, observed = random_sets(3, M, N, d, 2.0)
    expected = [plain_mmd(s, observed) for s in x]
    # A few pairs do not average their rounding errors of about 1e-6 each.
    np.testing.assert_allclose(measure(MMD(), observed, x), expected, rtol=0, atol=5e-6)


def test_masked_sets():
    x, observed = random_sets(4, 30, 20, 3, 1.0)
    ok = np.random.default_rng(1).random((4, 30)) < 0.6
    expected = [plain_mmd(s[o], observed) for s, o in zip(np.asarray(x), ok, strict=True)]
    np.testing.assert_allclose(
        measure(MMD(), observed, x, jnp.asarray(ok)), expected, rtol=0, atol=1e-6
    )


def test_other_lengthscales():
    lengthscales = (0.7, 2.0, 1.0, 2.0)
    x, observed = random_sets(3, 20, 30, 4, 1.0)
    expected = [plain_mmd(s, observed, lengthscales) for s in x]
    np.testing.assert_allclose(
        measure(MMD(lengthscales=lengthscales), observed, x), expected, rtol=0, atol=1e-6
    )


def test_median_heuristic():
    x, observed = random_sets(3, 20, 31, 4, 5.0)
    y = np.asarray(observed, float)
    squared = np.square(y[:, None] - y[None]).sum(-1)[np.triu_indices(31, 1)]
    discrepancy = MMD(lengthscales="median")
    # Distances of float32 data, computed in float32.
    assert discrepancy.prepare(observed).lengthscale == pytest.approx(np.median(squared), rel=1e-5)
    expected = [plain_mmd(s, observed, (np.median(squared),)) for s in x]
    np.testing.assert_allclose(measure(discrepancy, observed, x), expected, rtol=0, atol=1e-6)


def test_it_is_unbiased():
    """Over many pairs of sets from one distribution, the mean is zero."""
    x = jax.random.normal(KEY, (4000, 5, 2))
    observed = jax.random.normal(jax.random.key(1), (50, 6, 2))
    discrepancy = MMD(lengthscales=(1.0,))
    ok = jnp.ones((80, 5), bool)
    distances = [
        discrepancy.measure(discrepancy.prepare(y), x[80 * i : 80 * (i + 1)], ok)[0]
        for i, y in enumerate(observed)
    ]
    means = np.mean(distances, 1)
    # Sets that share observations are dependent; their 50 means are not.
    assert abs(means.mean()) < 3 * means.std() / np.sqrt(50)


@pytest.mark.parametrize(
    ("lengthscales", "exponentials"),
    [(LENGTHSCALES, [1024, 128, 16]), (PAPER_LENGTHSCALES, [1000, 800, 130, 1])],
    ids=["own", "paper"],
)
def test_few_lengthscales_need_an_exponential(lengthscales, exponentials):
    plan = product_plan(lengthscales)
    assert [lengthscales[i] for i, factors in plan if factors is None] == exponentials


def test_products_are_kernels_and_rounding_errors_are_bounded():
    lengthscales = tuple(2.0**k for k in range(20))
    plan = product_plan(lengthscales, max_growth=20)
    growth = {}
    for i, factors in plan:
        if factors is None:
            growth[i] = 1
        else:
            a, b = factors
            assert 1 / lengthscales[a] + 1 / lengthscales[b] == 1 / lengthscales[i]
            growth[i] = growth[a] + growth[b] + 0.5
    assert sorted(growth) == list(range(20))
    assert max(growth.values()) <= 20
    assert sum(factors is None for _, factors in plan) == 5


def test_xla_does_not_turn_products_back_into_exponentials():
    kernel = MMD(lengthscales=PAPER_LENGTHSCALES)._kernel(None)
    compiled = jax.jit(kernel).lower(jax.ShapeDtypeStruct((1000,), jnp.float32)).compile()
    assert compiled.as_text().count(" exponential(") == 4


@pytest.mark.parametrize(("K", "M", "N", "d"), [(5000, 100, 100, 8), (500, 100, 100, 600)])
def test_memory_is_bounded(K, M, N, d):
    discrepancy = MMD()
    state = discrepancy.prepare(jnp.zeros((N, d)))
    x, ok = jax.ShapeDtypeStruct((K, M, d), jnp.float32), jax.ShapeDtypeStruct((K, M), bool)

    def distances(x, ok):
        return discrepancy.measure(state, x, ok)[0]

    used = jax.jit(distances).lower(x, ok).compile().memory_analysis().temp_size_in_bytes
    # Two padded copies of the draws, and blocks of a few megabytes; never all the pairs.
    assert used < 2.5 * 4 * K * M * d + 2**24
