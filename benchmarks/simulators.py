"""How much time simulators outside of JAX lose: overhead for a call, and idle workers.

``python benchmarks/simulators.py`` prints a table.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import pliant

PARAMETERS, DRAWS = 1000, 100
SLOW = 0.05  # seconds of the slow simulator


def quick(rng: np.random.Generator, theta: dict[str, Any]) -> float:
    """About a microsecond, most of which draws a number."""
    return theta["mu"] + rng.standard_normal()


def quick_sets(rng: np.random.Generator, theta: dict[str, Any], n: int) -> np.ndarray:
    """The same for a set at once."""
    return theta["mu"] + rng.standard_normal(n)


def slow(rng: np.random.Generator, theta: dict[str, Any]) -> float:
    """Fifty milliseconds of work."""
    end = time.perf_counter() + SLOW
    while time.perf_counter() < end:
        pass
    return theta["mu"] + rng.standard_normal()


def waits(rng: np.random.Generator, theta: dict[str, Any]) -> float:
    """Fifty milliseconds that take no processor."""
    time.sleep(SLOW)
    return theta["mu"] + rng.standard_normal()


def seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def simulate(simulator: pliant.PythonSimulator, parameters: int, draws: int) -> Any:
    keys = jax.random.split(jax.random.key(0), parameters)
    return simulator.simulate(keys, {"mu": np.zeros(parameters)}, draws)


def shared_generator() -> None:
    """A loop whose draws depend on all draws before: nothing can be split, or made again."""
    rng, out = np.random.default_rng(0), np.zeros((PARAMETERS, DRAWS))
    for k in range(PARAMETERS):
        theta = {"mu": 0.0}
        for m in range(DRAWS):
            out[k, m] = quick(rng, theta)


def own_generators() -> None:
    """A loop whose draws depend on their own numbers alone."""
    out = np.zeros((PARAMETERS, DRAWS))
    for k in range(PARAMETERS):
        theta = {"mu": 0.0}
        for m in range(DRAWS):
            out[k, m] = quick(np.random.default_rng([0, k, m]), theta)


def whole_sets() -> None:
    """A loop over parameters."""
    out = np.zeros((PARAMETERS, DRAWS))
    for k in range(PARAMETERS):
        out[k] = quick_sets(np.random.default_rng([0, k]), {"mu": 0.0}, DRAWS)


def overhead() -> None:
    calls = PARAMETERS * DRAWS
    one = pliant.PythonSimulator(quick, event=())
    sets = pliant.PythonSimulator(quick_sets, event=(), vectorised=True)
    simulate(one, 10, 10)
    rows = {
        "plain loop, one generator for all draws": seconds(shared_generator),
        "plain loop, a generator for each draw": seconds(own_generators),
        "PythonSimulator(f)": seconds(lambda: simulate(one, PARAMETERS, DRAWS)),
        "plain loop over sets of 100": seconds(whole_sets),
        "PythonSimulator(f, vectorised=True)": seconds(lambda: simulate(sets, PARAMETERS, DRAWS)),
    }
    print(f"a quick function, {calls:,} draws: microseconds a draw")
    for name, time_taken in rows.items():
        print(f"  {name:<44} {1e6 * time_taken / calls:8.3f}")


def utilisation() -> None:
    print(
        f"a function of {SLOW * 1000:.0f} ms on 2 workers, 200 draws: share of their time at work"
    )
    for name, function in {"it computes": slow, "it waits": waits}.items():
        simulator = pliant.PythonSimulator(function, event=(), workers=2)
        simulate(simulator, 1, 8)  # starts the workers
        taken = seconds(lambda s=simulator: simulate(s, 10, 20))
        print(f"  {name:<44} {200 * SLOW / (2 * taken):8.1%}")


if __name__ == "__main__":
    overhead()
    utilisation()
