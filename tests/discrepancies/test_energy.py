import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.energy import Energy

KEY = jax.random.key(0)


def plain_energy(x, y):
    def mean(a, b):
        distances = np.linalg.norm(a[:, None] - b[None], axis=-1)
        pairs = distances.size - len(a) if a is b else distances.size
        return distances.sum() / max(1, pairs)

    x, y = np.asarray(x, float), np.asarray(y, float)
    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


@pytest.mark.parametrize(("M", "N", "d"), [(30, 30, 1), (12, 40, 5), (20, 1, 5), (12, 40, 60)])
def test_against_the_formula(M, N, d):
    rng = np.random.default_rng(0)
    x = 3 * rng.normal(size=(4, M, d)) + rng.normal(size=(4, 1, d)) + 5
    observed = 3 * rng.normal(size=(N, d)) + 5
    ok = rng.random((4, M)) < 0.8
    ok[:, :2] = True
    discrepancy = Energy()
    state = discrepancy.prepare(jnp.asarray(observed, jnp.float32))
    distances, _ = discrepancy.measure(state, jnp.asarray(x, jnp.float32), jnp.asarray(ok))
    expected = [plain_energy(s[o], observed) for s, o in zip(x, ok, strict=True)]
    # Distances of up to 50 in float32, each rounded to about 1e-6 of itself.
    np.testing.assert_allclose(distances, expected, rtol=1e-5, atol=5e-5)
