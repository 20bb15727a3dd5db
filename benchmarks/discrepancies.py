"""How fast the discrepancies are, side by side with plain versions, ott-jax and POT.

Run ``python benchmarks/discrepancies.py``; every ratio is within one run, so that a busy machine
slows both sides. Writes ``benchmarks/results/discrepancies.md``. POT has no batches: it takes pairs
one after the other, and is timed with fewer of them, in proportion.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import ot
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

from pliant.discrepancies.energy import Energy
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.random_features import RandomFeatureMMD
from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein
from pliant.discrepancies.wasserstein import Wasserstein

PAGE = Path(__file__).parent / "results" / "discrepancies.md"
POT_POINTS = 5000  # in all its pairs


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
    state, ok = discrepancy.prepare(observed), jnp.ones(x.shape[:2], bool)
    return lambda x: discrepancy.measure(state, x, ok)[0]


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


def pot_pairs(x):
    return min(len(x), POT_POINTS // x.shape[1])


def pot_cost(observed, epsilon, tolerance):
    """POT's Sinkhorn in the logarithmic domain, for some pairs, one after the other."""
    y = np.asarray(observed, np.float64)

    def costs(x):
        found = []
        for points in np.asarray(x[: pot_pairs(x)], np.float64):
            squared = ot.dist(points, y)
            plan = ot.sinkhorn(
                [], [], squared, epsilon, "sinkhorn_log", numItermax=2000, stopThr=tolerance
            )
            found.append(np.sum(plan * squared))
        return np.array(found)

    return costs


def rows(name, times, baseline):
    base = times[baseline]
    return [f"| {name} | {key} | {time:.3f} | {base / time:.1f} |" for key, time in times.items()]


def compare(K, M, d, repeats):
    """The part of the page for K parameters, and M draws and observations."""
    x, observed = random_sets(K, M, M, d)
    lines = [
        f"\n## {K} parameters, {M} draws and observations, {d} features\n",
        "| discrepancy | version | seconds | times as fast |\n|---|---|---:|---:|",
    ]
    mmd = {
        "plain, vmap of 50": plain_mmd(observed, 50),
        "pliant": ours(MMD(lengthscales=PAPER_LENGTHSCALES, most_partners=None), observed, x),
        "pliant, 512 random features": ours(RandomFeatureMMD(), observed, x),
    }
    lines += rows("MMD", seconds(mmd, x, repeats=repeats), "plain, vmap of 50")

    wasserstein = Wasserstein()
    epsilon = float(wasserstein.prepare(observed).epsilon)
    transport = {
        "ott-jax, vmap of 50": ott_cost(observed, epsilon, wasserstein.tolerance, 50),
        "POT, one by one": pot_cost(observed, epsilon, wasserstein.tolerance),
        "pliant": ours(wasserstein, observed, x),
    }
    times = seconds(transport, x, repeats=repeats)
    times["POT, one by one"] *= K / pot_pairs(x)
    lines += rows("Wasserstein", times, "ott-jax, vmap of 50")
    others = {
        "Energy": ours(Energy(), observed, x),
        "SlicedWasserstein": ours(SlicedWasserstein(), observed, x),
    }
    for name, time_ in seconds(others, x, repeats=repeats).items():
        lines.append(f"| {name} | pliant | {time_:.3f} | |")

    exact = [float64_mmd(np.asarray(s, float), np.asarray(observed, float)) for s in x[:20]]
    error = np.abs(np.asarray(mmd["pliant"](x))[:20] - exact).max()
    lines.append(f"\nThe MMD of 20 sets is within {error:.1e} of NumPy's in float64.")
    costs = {name: np.asarray(function(x))[: pot_pairs(x)] for name, function in transport.items()}
    for name in ("ott-jax, vmap of 50", "POT, one by one"):
        off = np.abs(costs["pliant"] / costs[name] - 1).max()
        lines.append(f"Transport costs are within {off:.1e} of those of {name.split(',')[0]}.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--params", type=int, default=5000, help="parameters K")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    head = (
        "# Discrepancies, side by side\n\nWritten by `python benchmarks/discrepancies.py`: the best"
    )
    head += f" of {options.repeats} turns, in single precision (POT: double).\n"
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(head)
    for K, M in [(options.params, 100), (max(options.params // 100, 1), 1000)]:
        with PAGE.open("a") as page:
            page.write(compare(K, M, 8, options.repeats) + "\n")
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
