"""The loop over rounds: progress, callbacks, budgets, interruption, and going on later."""

import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax

from pliant._checks import check_instance, check_integer, check_path, check_real, check_seed
from pliant._files import StorageError
from pliant.methods.base import AbstractMethod, Outcome, Stop
from pliant.problem.prior import Prior
from pliant.problem.problem import Problem
from pliant.run.folder import Plan, Progress, RunStore
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.progress import Display
from pliant.run.recording import Record, RecordedSimulator
from pliant.run.result import Result
from pliant.simulators.dispatch import SimulatorError
from pliant.weighting.final_check import FinalCheck

Callback = Callable[[dict[str, Any], Posterior], Any]


def infer(
    problem: Problem,
    method: AbstractMethod,
    *,
    seed: int = 0,
    folder: str | Path | None = None,
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
        folder: Where to keep every round, and every simulation of a simulator outside of JAX,
            as soon as they are made: ``pliant.resume`` goes on from there whatever happened. The
            result is saved there too.
        max_simulations: No round is begun that would call the simulator more often in all.
            ``PLI`` fits the options that it was not given to this budget.
        max_seconds: No round is begun after this time.
        progress: Whether to show the rounds on a terminal. Nothing is shown elsewhere.
        callback: Called with the row and the posterior of each round; if it returns True,
            the run ends there.

    Returns:
        The posterior with the run's history and how it ended.

    Raises:
        TypeError, ValueError: For mistakes that can be seen before the first round.
        FileExistsError: If the folder holds a run.
        InUseError: If another process works in the folder.
    """
    _check(problem, method, seed, max_simulations, max_seconds, progress, callback)
    if max_simulations is not None:
        method = method.within_budget(problem, max_simulations)
    plan = Plan(method, seed, max_simulations, max_seconds)
    _check_budget(problem, plan)
    if folder is None:
        return _run(problem, plan, None, None, progress=progress, callback=callback)
    with RunStore(check_path("folder", folder)) as store:
        store.begin(plan, problem)
        try:
            return _run(problem, plan, store, None, progress=progress, callback=callback)
        except (TypeError, ValueError):
            if store.last() is None:  # a mistake in the options, which method.init found
                store.discard()
            raise


def resume(
    folder: str | Path,
    problem: Problem,
    *,
    max_simulations: int | None = None,
    max_seconds: float | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    classes: Iterable[type] = (),
) -> Result:
    """Go on with a run that ``infer(..., folder=...)`` began, from where it was.

    The result is, bit for bit, that of a run which was never interrupted. A run that has ended
    gives its result again. Damaged files are named in a warning, and what they held is
    computed again.

    Args:
        folder: Of the run. Method and seed are read from it.
        problem: The same problem; files cannot hold a simulator.
        max_simulations: A new budget; None keeps the old one.
        max_seconds: The same, for the seconds of all parts of the run together.
        progress: As for ``infer``.
        callback: As for ``infer``; it sees the rounds that are made now.
        classes: Your own discrepancy, family or bandwidth classes, if the run uses any.

    Raises:
        FileNotFoundError: If the folder holds no run.
        ValueError: If the problem is another one, or the plan of the run is damaged.
        InUseError: If another process works in the folder.
    """
    path = check_path("folder", folder)
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: there is no such folder.")
    check_instance("problem", problem, Problem, "pliant.Problem(prior, simulator, observed)")
    with RunStore(path) as store:
        plan = store.plan(problem, classes)
        if max_simulations is not None:
            plan = plan._replace(max_simulations=max_simulations)
        if max_seconds is not None:
            plan = plan._replace(max_seconds=max_seconds)
        _check(problem, *plan, progress, callback)
        _check_budget(problem, plan)
        store.extend(plan, problem)
        last = store.last()
        return _run(problem, plan, store, last, progress=progress, callback=callback)


def _run(
    problem: Problem,
    plan: Plan,
    store: RunStore | None,
    last: Progress | None,
    *,
    progress: bool,
    callback: Callback | None,
) -> Result:
    """The rounds after the last one that was saved."""
    method, run_key = plan.method, jax.random.key(plan.seed)
    now = last if last is not None else Progress(None, 0, 0.0, (), (), None)
    start = time.monotonic() - now.seconds
    stop = now.stop
    with Display(method.rounds, enabled=progress) as display:
        record = Record(problem.prior.space, now.failures, display.simulating)
        recorded = problem.with_simulator(RecordedSimulator(problem.simulator, record))
        try:
            if last is None:
                record.begin(None if store is None else store.ledger(0))
                state, simulations = method.init(jax.random.fold_in(run_key, 0), recorded)
                now = now._replace(state=state, simulations=simulations, failures=record.failures)
                if store is not None:
                    store.save(0, now)
            for index in range(len(now.rows) + 1, method.rounds + 1):
                stop = stop or _budget(method, problem, now.simulations, plan, start)
                if stop is not None:
                    break
                record.begin(None if store is None else store.ledger(index))
                outcome = method.step(jax.random.fold_in(run_key, index), recorded, now.state)
                now = _after(now, index, outcome, record, time.monotonic() - start)
                if store is not None:
                    store.save(index, now)
                display.update(now.rows[-1])
                stop = now.stop
                if stop is None and callback is not None:
                    stop = _ask(callback, now.rows[-1], _posterior(problem, method, now.state))
        except KeyboardInterrupt:
            stop = Stop("interrupted", f"{_rounds(len(now.rows))} of {method.rounds}.")
        except SimulatorError as error:
            stop = Stop("failed", f"{error}{record.explanation()}")
        except StorageError as error:
            stop = Stop("storage", f"{error} Make room, and go on with pliant.resume.")
    if stop is None:
        stop = Stop("finished", f"{_rounds(method.rounds)} of {method.rounds}.")
    if plan.max_simulations is not None:
        used = f" {now.simulations:,} of {plan.max_simulations:,} simulations were used."
        stop = stop._replace(message=stop.message + used)
    result = Result(
        posterior=_posterior(problem, method, now.state),
        history=History(now.rows),
        status=stop.status,
        message=stop.message,
        method=method,
        seed=plan.seed,
        observed_shape=problem.observed.shape,
        failures=record.failures,
        check=_check_posterior(problem, plan, now, stop),
    )
    return result if store is None else _kept(result, store)


def _check_posterior(problem: Problem, plan: Plan, now: Progress, stop: Stop) -> FinalCheck | None:
    """The method's own check, unless the user is in a hurry."""
    if now.state is None or stop.status == "interrupted":
        return None
    key = jax.random.fold_in(jax.random.key(plan.seed), len(now.rows) + 1)
    try:
        return plan.method.check(key, problem, now.state)
    except KeyboardInterrupt:
        return None


def _kept(result: Result, store: RunStore) -> Result:
    """The result, saved in the folder of its run; a run that came to nothing is removed."""
    if isinstance(result.posterior.density, Prior):
        if result.status == "failed" or not store.holds_simulations:
            store.discard()
        return result
    try:
        result.save(store.folder, overwrite=True)
    except StorageError as error:
        message = f"{error} The result is not lost with it: make room, and save or resume it."
        return dataclasses.replace(result, status="storage", message=message)
    return result


def _after(
    before: Progress, index: int, outcome: Outcome, record: Record, seconds: float
) -> Progress:
    """What is known after a round."""
    simulations = before.simulations + outcome.simulations
    totals = {"simulations": simulations, "seconds": seconds}
    row = {"round": index, **outcome.row, **record.row, **totals}
    stop = outcome.stop
    if stop is not None and stop.status == "failed":
        stop = stop._replace(message=stop.message + record.explanation())
    return Progress(outcome.state, simulations, seconds, (*before.rows, row), record.failures, stop)


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


def _check_budget(problem: Problem, plan: Plan) -> None:
    """Raise if not even one round is within the budget."""
    one_round = plan.method.simulations_per_round(problem)
    if plan.max_simulations is not None and plan.max_simulations < one_round:
        raise ValueError(
            f"max_simulations: one round makes {one_round:,} simulator calls, so a budget of "
            f"{plan.max_simulations:,} allows none. Lower n_particles or n_draws."
        )


def _posterior(problem: Problem, method: AbstractMethod, state: Any) -> Posterior:
    density = None if state is None else method.posterior(state)
    return Posterior(problem.prior.space, problem.prior if density is None else density)


def _rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


def _budget(
    method: AbstractMethod, problem: Problem, simulations: int, plan: Plan, start: float
) -> Stop | None:
    most = simulations + method.simulations_per_round(problem)
    if plan.max_simulations is not None and most > plan.max_simulations:
        return Stop(
            "max_simulations", f"Another round would exceed {plan.max_simulations:,} simulations."
        )
    if plan.max_seconds is not None and time.monotonic() - start > plan.max_seconds:
        return Stop("max_seconds", f"{plan.max_seconds:g} seconds have passed.")
    return None


def _ask(callback: Callback, row: dict[str, Any], posterior: Posterior) -> Stop | None:
    if callback(row, posterior) is True:
        return Stop("callback", f"The callback ended the run after round {row['round']}.")
    return None
