"""Simulated sets for many parameters, in chunks that bound the memory."""

import contextlib
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from pliant.problem.problem import Problem
from pliant.problem.space import constrain_all

_DRAW_BYTES, _NUMBER_BYTES = 80, 16  # measured peaks of a chunk: per draw, and per number of it
_ENOUGH = 20  # parameters whose draws do not coincide by chance
_CHUNK_NUMBERS = 2**23  # simulated numbers held at a time: 32 MiB


class Chunk(NamedTuple):
    """Sets of some parameters. All chunks have the same size; only the first ``rows`` are valid."""

    start: int
    rows: int
    thetas: PyTree
    x: Float[Array, "size M *event"]
    ok: Bool[Array, "size M"]


def simulate_chunks(
    key: Key[Array, ""],
    problem: Problem,
    z: Float[Array, "K dim"],
    n_draws: int,
    *,
    chunk_size: int | None = None,
) -> Iterator[Chunk]:
    """Draw ``n_draws`` observations for each parameter.

    Draw m of parameter k depends only on ``key``, k and m: ``chunk_size`` changes the memory use
    and nothing else.

    Raises:
        ValueError: If a chunk would take more than a quarter of the machine's memory.
    """
    n = len(z)
    features = max(1, math.prod(problem.event_shape))
    size = min(n, chunk_size or max(1, _CHUNK_NUMBERS // (n_draws * features)))
    chunk = "one parameter" if size == 1 else f"a chunk of {size} parameters"
    _check_memory(size * n_draws * (_DRAW_BYTES + _NUMBER_BYTES * features), n_draws, chunk)
    keys = jax.vmap(lambda index: jax.random.fold_in(key, index))(jnp.arange(n))
    for start in range(0, n, size):
        rows = jnp.minimum(jnp.arange(start, start + size), n - 1)  # the last chunk is padded
        thetas = constrain_all(problem.prior.space, z[rows])
        count = min(size, n - start)
        if problem.simulator.compiled or count == size:
            x, ok = problem.simulator.simulate(keys[rows], thetas, n_draws)
        else:  # no draw of a slow simulator is wasted on padding
            new = jax.tree.map(lambda leaf, m=count: leaf[:m], thetas)
            x, ok = problem.simulator.simulate(keys[rows[:count]], new, n_draws)
            x, ok = (
                jnp.concatenate([a, jnp.repeat(a[-1:], size - count, axis=0)]) for a in (x, ok)
            )
        if start == 0:
            _check_noise(np.asarray(x)[:count], np.asarray(ok)[:count])
        yield Chunk(start, count, thetas, x, ok)


def _check_memory(needed: int, n_draws: int, what: str) -> None:
    memory = machine_memory()
    if needed > memory / 4:
        raise ValueError(
            f"n_draws: {n_draws:,} draws for {what} take about {needed / 2**30:.3g} GiB, "
            f"more than a quarter of this machine's memory ({memory / 2**30:.3g} GiB). Use fewer "
            "draws."
        )


def machine_memory() -> float:
    """Bytes of main memory that this process may use; infinite if the system does not tell."""
    sizes = [math.inf]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):  # "max" if a container has no limit
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(size for size in sizes if size > 0)


def _check_noise(x: Float[np.ndarray, "K M *event"], ok: Bool[np.ndarray, "K M"]) -> None:
    """Warn if all draws of each parameter are equal, though parameters differ."""
    whole = ok.all(axis=1)
    if ok.shape[1] < 2 or whole.sum() < _ENOUGH or np.any(x[whole][0, 0] != x[whole][0]):
        return
    x = x[whole]
    if np.all(x == x[:, :1]) and np.any(x[0] != x):
        warnings.warn(
            f"simulator: all {ok.shape[1]} draws of each of {len(x)} parameters are equal. A "
            "simulator that uses its key (or rng, or seed) draws different observations. If yours "
            "is deterministic, add the noise of the measurement to it.",
            stacklevel=3,
        )


def simulate_sets(
    key: Key[Array, ""], problem: Problem, z: Float[Array, "K dim"], n_draws: int
) -> tuple[Float[np.ndarray, "K M *event"], Bool[np.ndarray, "K M"]]:
    """All sets in one array, for methods that learn from them, and a mask of usable draws.

    Raises:
        ValueError: If they would take more than a quarter of the machine's memory.
    """
    numbers = n_draws * max(1, math.prod(problem.event_shape))
    _check_memory(len(z) * numbers * np.dtype(np.float32).itemsize, n_draws, f"{len(z)} parameters")
    chunks = list(simulate_chunks(key, problem, z, n_draws))
    x = np.concatenate([np.asarray(chunk.x)[: chunk.rows] for chunk in chunks])
    return x, np.concatenate([np.asarray(chunk.ok)[: chunk.rows] for chunk in chunks])
