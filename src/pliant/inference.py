"""The loop over rounds: progress, callbacks, budgets, interruption."""

import time
from collections.abc import Callable
from typing import Any

import jax

from pliant.checks import check_instance, check_integer, check_real, check_seed
from pliant.history import History
from pliant.methods.base import AbstractMethod, Stop
from pliant.posterior import Posterior
from pliant.problem import Problem
from pliant.progress import Display
from pliant.result import Result

Callback = Callable[[dict[str, Any], Posterior], Any]


def infer(
    problem: Problem,
    method: AbstractMethod,
    *,
    seed: int = 0,
    max_simulations: int | None = None,
    max_seconds: float | None = None,
    progress: bool = True,
    callback: Callback | None = None,
) -> Result:
    """Find the posterior of a problem.

    Ctrl-C ends the run after the last finished round, and keeps its posterior.

    Args:
        problem: Prior, simulator and observations.
        method: Such as ``pliant.PLI()``.
        seed: All random numbers follow from it.
        max_simulations: No round is begun that would call the simulator more often in all.
        max_seconds: No round is begun after this time.
        progress: Whether to show the rounds on a terminal. Nothing is shown elsewhere.
        callback: Called with the row and the posterior of each round; if it returns True,
            the run ends there.

    Returns:
        The posterior with the run's history and how it ended.

    Raises:
        TypeError, ValueError: For mistakes that can be seen before the first round.
    """
    _check(problem, method, seed, max_simulations, max_seconds, progress, callback)
    start = time.monotonic()
    run_key = jax.random.key(seed)
    history = History()
    state, simulations, stop = None, 0, None
    with Display(method.rounds, enabled=progress) as display:
        try:
            state, simulations = method.init(jax.random.fold_in(run_key, 0), problem)
            for index in range(1, method.rounds + 1):
                most = simulations + method.simulations_per_round(problem)
                stop = _budget(most, max_simulations, start, max_seconds)
                if stop is not None:
                    break
                outcome = method.step(jax.random.fold_in(run_key, index), problem, state)
                state, stop = outcome.state, outcome.stop
                simulations += outcome.simulations
                totals = {"simulations": simulations, "seconds": time.monotonic() - start}
                history.append({"round": index, **outcome.row, **totals})
                display.update(history[-1])
                if stop is None and callback is not None:
                    stop = _ask(callback, history[-1], _posterior(problem, method, state))
                if stop is not None:
                    break
        except KeyboardInterrupt:
            stop = Stop("interrupted", f"{_rounds(len(history))} of {method.rounds}.")
    if stop is None:
        stop = Stop("finished", f"{_rounds(method.rounds)} of {method.rounds}.")
    check = None
    if state is not None and stop.status != "interrupted":
        check = method.check(jax.random.fold_in(run_key, len(history) + 1), problem, state)
    return Result(
        posterior=_posterior(problem, method, state),
        history=history,
        status=stop.status,
        message=stop.message,
        method=method,
        seed=seed,
        observed_shape=problem.observed.shape,
        check=check,
    )


def _check(
    problem: Any,
    method: Any,
    seed: Any,
    max_simulations: Any,
    max_seconds: Any,
    progress: Any,
    callback: Any,
) -> None:
    """Raise for arguments of ``infer`` that cannot work."""
    check_instance("problem", problem, Problem, "pliant.Problem(prior, simulator, observed)")
    check_instance("method", method, AbstractMethod, "pliant.PLI()")
    check_seed("seed", seed)
    check_instance("progress", progress, bool, "True")
    if max_seconds is not None:
        check_real("max_seconds", max_seconds, above=0)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a function of row and posterior, got {callback!r}.")
    if max_simulations is not None:
        check_integer("max_simulations", max_simulations, at_least=1)
        one_round = method.simulations_per_round(problem)
        if max_simulations < one_round:
            raise ValueError(
                f"max_simulations: one round makes {one_round:,} simulator calls, so a budget of "
                f"{max_simulations:,} allows none. Lower n_params or n_sims."
            )


def _posterior(problem: Problem, method: AbstractMethod, state: Any) -> Posterior:
    density = None if state is None else method.posterior(state)
    return Posterior(problem.prior.space, problem.prior if density is None else density)


def _rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


def _budget(
    simulations: int, max_simulations: int | None, start: float, max_seconds: float | None
) -> Stop | None:
    if max_simulations is not None and simulations > max_simulations:
        return Stop(
            "max_simulations", f"Another round would exceed {max_simulations:,} simulations."
        )
    if max_seconds is not None and time.monotonic() - start > max_seconds:
        return Stop("max_seconds", f"{max_seconds:g} seconds have passed.")
    return None


def _ask(callback: Callback, row: dict[str, Any], posterior: Posterior) -> Stop | None:
    if callback(row, posterior) is True:
        return Stop("callback", f"The callback ended the run after round {row['round']}.")
    return None
