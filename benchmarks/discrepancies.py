"""How fast the discrepancies are, side by side with plain versions and with ott-jax.

Run ``python benchmarks/discrepancies.py``; every ratio is within one run, so that a busy machine
slows both sides. ``--params 5000`` gives the paper's size.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

from pliant.discrepancies import MMD, PAPER_LENGTHSCALES, SlicedWasserstein, Wasserstein


def random_sets(K, M, N, d, seed=0):
    """Sets at different places and of different spreads, as from a round's parameters."""
    rng = np.random.default_rng(seed)
    spread, place = rng.uniform(0.5, 2, (K, 1, 1)), 2 * rng.uniform(size=(K, 1, 1))
    x = spread * rng.normal(size=(K, M, d)) + place * rng.normal(size=(K, 1, d))
    return jnp.asarray(x, jnp.float32), jnp.asarray(rng.normal(size=(N, d)), jnp.float32)


def seconds(functions, x, *, repeats):
    """The best time of each compiled function; they take turns, so that all see the same load."""
    best = dict.fromkeys(functions, np.inf)
    for function in functions.values():
        jax.block_until_ready(function(x))
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            jax.block_until_ready(function(x))
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def ours(discrepancy, observed, x):
    state, ok, key = discrepancy.prepare(observed), jnp.ones(x.shape[:2], bool), jax.random.key(0)
    return lambda x: discrepancy.measure(key, state, None, x, ok)[0]


def plain_mmd(observed, batch_size):
    """Eleven exponentials a pair, all pairs, mapped by ``vmap`` over batches of parameters."""

    def kernel(x, y):
        squared = jnp.square(x[:, None] - y[None]).sum(-1)
        return sum(jnp.exp(-squared / (2 * length)) for length in PAPER_LENGTHSCALES)

    def within(x):
        n = x.shape[0]
        return (kernel(x, x).sum() - n * len(PAPER_LENGTHSCALES)) / (n * (n - 1))

    def distance(x):
        return within(x) + within(observed) - 2 * kernel(x, observed).mean()

    return jax.jit(lambda x: jax.lax.map(distance, x, batch_size=batch_size))


def float64_mmd(x, y):
    def mean(a, b):
        squared = np.square(a[:, None] - b[None]).sum(-1)
        k = sum(np.exp(-squared / (2 * length)) for length in PAPER_LENGTHSCALES)
        return (k.sum() - np.trace(k)) / (k.size - len(k)) if a is b else k.mean()

    return mean(x, x) + mean(y, y) - 2 * mean(x, y)


def ott_cost(observed, epsilon, tolerance, batch_size):
    """ott-jax's Sinkhorn, mapped by ``vmap`` over batches of parameters."""

    def cost(x):
        geometry = pointcloud.PointCloud(x, observed, epsilon=epsilon)
        solver = sinkhorn.Sinkhorn(threshold=tolerance, max_iterations=2000)
        return solver(linear_problem.LinearProblem(geometry)).primal_cost

    return jax.jit(lambda x: jax.lax.map(cost, x, batch_size=batch_size))


def row(name, times, baseline):
    base = times[baseline]
    for other, value in times.items():
        print(f"| {name} | {other} | {value:.3f} | {base / value:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", type=int, default=500, help="parameters K")
    parser.add_argument(
        "--draws", type=int, default=100, help="draws M of each, and observations N"
    )
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    K, M, d, repeats = options.params, options.draws, options.features, options.repeats
    x, observed = random_sets(K, M, M, d)
    print(f"{K} parameters, {M} draws and observations, {d} features, float32\n")
    print("| discrepancy | version | seconds | times as fast |\n|---|---|---:|---:|")

    mmd = {
        "plain, vmap of 50": plain_mmd(observed, 50),
        "plain, vmap of all": plain_mmd(observed, K),
        "pliant": ours(MMD(), observed, x),
    }
    if K > 1000:
        del mmd["plain, vmap of all"]  # a gigabyte and more of memory
    row("MMD", seconds(mmd, x, repeats=repeats), "plain, vmap of 50")

    wasserstein = Wasserstein()
    epsilon = float(wasserstein.prepare(observed).epsilon)
    transport = {
        "ott-jax, vmap of 50": ott_cost(observed, epsilon, wasserstein.tolerance, 50),
        "pliant": ours(wasserstein, observed, x),
    }
    row("Wasserstein", seconds(transport, x, repeats=repeats), "ott-jax, vmap of 50")
    costs = [np.asarray(f(x)) for f in transport.values()]
    difference = np.abs(costs[0] / costs[1] - 1).max()

    sliced = {"pliant": ours(SlicedWasserstein(), observed, x)}
    row("SlicedWasserstein", seconds(sliced, x, repeats=repeats), "pliant")

    exact = [float64_mmd(np.asarray(s, float), np.asarray(observed, float)) for s in x[:20]]
    print("\nLargest error of the MMD of 20 sets, against NumPy in float64:")
    for name, function in mmd.items():
        print(f"  {name}: {np.abs(np.asarray(function(x))[:20] - exact).max():.1e}")
    print(f"Wasserstein differs from ott-jax by at most {difference:.1e} of the cost.")


if __name__ == "__main__":
    main()
