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
from jaxtyping import Array, Bool, Float, Int, Key

from pliant._deadline import check_time
from pliant.problem.problem import Problem
from pliant.problem.space import constrain_all

_DRAW_BYTES, _NUMBER_BYTES = 80, 16  # measured peaks of a chunk: per draw, and per number of it
_FLOAT_BYTES = 4
_PARTICLE_BYTES, _ENTRY_BYTES = 320, 48  # measured peaks of SMCABC: a particle, an entry of it
_FAILED = 0.01  # share of failed draws that is worth a word
_ENOUGH = 20  # parameters whose draws do not coincide by chance
_CHUNK_NUMBERS = 2**23  # simulated numbers held at a time: 32 MiB


class Draws(NamedTuple):
    """Draws with any leading axes; in a round these are K parameters and M draws for each."""

    x: Float[Array | np.ndarray, "*lead_event"]
    """Gaps are filled as in the observations."""
    ok: Bool[Array | np.ndarray, "*lead"]
    """Which draws are usable."""
    under: Int[Array | np.ndarray, "*lead"] | None = None
    """The observation whose condition and gaps a draw has; None if they are all alike."""
    seen: Bool[Array | np.ndarray, "*lead_event"] | None = None
    """Which numbers count as measured; None if all do."""

    def first(self, n: int) -> "Draws":
        """The first draws of each parameter."""
        return jax.tree.map(lambda array: array[:, :n], self)


def observed_draws(problem: Problem) -> Draws:
    """The observations as draws ``(N, *event)``, each under its own condition."""
    n = problem.n_obs
    under = None if problem.is_uniform else np.arange(n)
    return Draws(problem.observed, np.ones(n, bool), under, problem.seen)


class Chunk(NamedTuple):
    """Sets of some parameters. All chunks have the same size; only the first ``rows`` are valid."""

    start: int
    rows: int
    draws: Draws


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
    and nothing else. Each draw is made under the condition of an observation, and has its gaps.

    Raises:
        ValueError: If a chunk would take more than a quarter of the machine's memory.
    """
    n = len(z)
    size = check_chunks(problem, n, n_draws, chunk_size=chunk_size)
    keys = jax.vmap(lambda index: jax.random.fold_in(key, index))(jnp.arange(n))
    under = _observations_of(keys, problem, n_draws)
    for start in range(0, n, size):
        check_time()
        rows = jnp.minimum(jnp.arange(start, start + size), n - 1)  # the last chunk is padded
        thetas = constrain_all(problem.prior.space, z[rows])
        count = min(size, n - start)
        own = None if under is None else under[rows]
        given = () if own is None or problem.conditions is None else (own,)
        if problem.simulator.compiled or count == size:
            x, ok = problem.simulator.simulate(keys[rows], thetas, n_draws, *given)
        else:  # no draw of a slow simulator is wasted on padding
            new = jax.tree.map(lambda leaf, m=count: leaf[:m], (thetas, given))
            x, ok = problem.simulator.simulate(keys[rows[:count]], new[0], n_draws, *new[1])
            x, ok = (
                jnp.concatenate([a, jnp.repeat(a[-1:], size - count, axis=0)]) for a in (x, ok)
            )
        if start == 0 and problem.conditions is None:
            _check_noise(np.asarray(x)[:count], np.asarray(ok)[:count])
        if start == 0 and problem.missing is True:
            _check_left_out(np.asarray(ok)[:count])
        yield Chunk(start, count, _with_gaps(problem, x, ok, own))


def _observations_of(
    keys: Key[Array, " K"], problem: Problem, n_draws: int
) -> Int[Array, "K M"] | None:
    """The observation whose condition and gaps each draw has.

    All of them equally often where M is a multiple of N. Otherwise each parameter begins at a
    random place of a fixed random order.
    """
    if problem.is_uniform:
        return None
    n_obs = problem.n_obs
    place = jnp.broadcast_to(jnp.arange(n_draws), (len(keys), n_draws))
    if n_draws % n_obs == 0:
        return place % n_obs
    start = jax.vmap(lambda key: jax.random.randint(key, (), 0, n_obs))(keys)
    order = jnp.asarray(np.random.default_rng(n_obs).permutation(n_obs))
    return order[(place + start[:, None]) % n_obs]


def _with_gaps(problem: Problem, x: Array, ok: Array, under: Array | None) -> Draws:
    """Draws that lack what the observations lack, or what the simulator left out."""
    if problem.seen is None:
        return Draws(x, ok, under)
    by_simulator = problem.missing == "simulated"
    seen = ~jnp.isnan(x) if by_simulator else jnp.asarray(problem.seen)[under]
    filled = jnp.where(seen, x, jnp.asarray(problem.filler))
    return Draws(filled, ok, under, seen)


def chunks_of(draws: Draws, size: int) -> Iterator[Chunk]:
    """Sets that have been simulated already, in chunks."""
    n = len(draws.ok)
    for start in range(0, n, size):
        rows = np.minimum(np.arange(start, start + size), n - 1)  # the last chunk is padded
        some = jax.tree.map(lambda array, rows=rows: jnp.asarray(array[rows]), draws)
        yield Chunk(start, min(size, n - start), some)


def check_chunks(
    problem: Problem,
    n: int,
    n_draws: int,
    *,
    chunk_size: int | None = None,
    numbers_per_draw: float = 0,
) -> int:
    """How many of ``n`` parameters are simulated at a time. Nothing is simulated.

    Args:
        problem: With the shape of a draw.
        n: Parameters.
        n_draws: Draws for each of them.
        chunk_size: The size that a user wants.
        numbers_per_draw: What else is held for each draw of one parameter.

    Raises:
        ValueError: If the parameters or a chunk would take more than a quarter of the machine's
            memory.
    """
    check_particles(problem, n)
    features = max(1, math.prod(problem.event_shape))
    bytes_per_draw = _DRAW_BYTES + _NUMBER_BYTES * features
    most = min(_CHUNK_NUMBERS / features, machine_memory() / 8 / bytes_per_draw) // n_draws
    least = min(n, chunk_size or 1)
    needed = least * bytes_per_draw + _FLOAT_BYTES * numbers_per_draw
    chunk = "one parameter" if least == 1 else f"a chunk of {least} parameters"
    _check_memory("n_draws", f"{n_draws:,} draws for {chunk}", n_draws, needed)
    return least if chunk_size else min(n, max(1, int(most)))


def check_sets(problem: Problem, n: int, n_draws: int, *, limited: str = "n_draws") -> None:
    """Refuse sets that ``simulate_sets`` could not hold. Nothing is simulated.

    Args:
        problem: With the shape of a draw.
        n: Parameters.
        n_draws: Draws for each of them.
        limited: The option that a user can lower: ``n_draws`` or ``n_particles``.

    Raises:
        ValueError: If they would take more than a quarter of the machine's memory.
    """
    check_particles(problem, n)
    features = max(1, math.prod(problem.event_shape))
    if n * features * _FLOAT_BYTES > machine_memory() / 4:  # not even one draw for each
        limited = "n_particles"
    options = {"n_draws": n_draws, "n_particles": n}
    needed = n * n_draws * features * _FLOAT_BYTES / options[limited]
    what = f"{n_draws:,} draws for each of {n:,} parameters"
    _check_memory(limited, what, options[limited], needed)


def check_particles(
    problem: Problem, n: int, *, limited: str = "n_particles", value: int | None = None
) -> None:
    """Refuse more parameters than the memory can hold, without any draws. Nothing is simulated.

    Args:
        problem: With the dimension of a parameter.
        n: Parameters.
        limited: The option that a user can lower, to which ``n`` is proportional.
        value: Of that option; None for ``n``.

    Raises:
        ValueError: If they would take more than a quarter of the machine's memory.
    """
    value = n if value is None else value
    needed = n * (_PARTICLE_BYTES + _ENTRY_BYTES * problem.prior.dim)
    _check_memory(limited, f"{n:,} particles", value, needed / value)


def _check_memory(option: str, what: str, value: int, bytes_each: float) -> None:
    """Compare ``value`` times ``bytes_each`` with the memory; both follow from one option."""
    memory = machine_memory()
    if value * bytes_each > memory / 4:
        raise ValueError(
            f"{option}: {what} take about {value * bytes_each / 2**30:.3g} GiB, more than a "
            f"quarter of this machine's memory ({memory / 2**30:.3g} GiB). Use {option} of "
            f"{_rounded_down(memory / 4 / bytes_each):,} at most."
        )


def _rounded_down(x: float) -> int:
    """``x`` with its first two digits."""
    unit = 10 ** max(0, math.floor(math.log10(max(x, 1))) - 1)
    return int(x // unit) * unit


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


def _check_left_out(ok: Bool[np.ndarray, "K M"]) -> None:
    """Warn if draws fail where gaps are by design: a simulator may leave numbers out itself."""
    failed = 1 - float(ok.mean())
    if failed > _FAILED:
        warnings.warn(
            f"missing: {failed:.0%} of the draws are not finite, count as failed and are left out. "
            "If the simulator itself returns NaN for what was not measured, as after a deadline, "
            'say missing="simulated".',
            stacklevel=3,
        )


def simulate_sets(
    key: Key[Array, ""], problem: Problem, z: Float[Array, "K dim"], n_draws: int
) -> Draws:
    """All sets in NumPy arrays, for methods that learn from them.

    Raises:
        ValueError: If they would take more than a quarter of the machine's memory.
    """
    check_sets(problem, len(z), n_draws)
    chunks = list(simulate_chunks(key, problem, z, n_draws))
    parts = [jax.tree.map(lambda a, n=c.rows: np.asarray(a)[:n], c.draws) for c in chunks]
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
