"""The loop over rounds: progress, callbacks, budgets, interruption and resuming."""

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax

from pliant._checks import check_instance, check_integer, check_path, check_real, check_seed
from pliant._deadline import DeadlineError, time_limit
from pliant._devices import keep_compiled_code
from pliant._files import StorageError
from pliant.methods.base import AbstractMethod, Outcome, Stop
from pliant.methods.pli import PLI
from pliant.methods.status import Status
from pliant.problem.prior import Prior
from pliant.problem.problem import Problem
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.progress import Display
from pliant.run.recording import Record, RecordedSimulator
from pliant.run.result import Result, warned
from pliant.run.store import Plan, Progress, RunStore, check_begun, check_new
from pliant.simulators.dispatch import ExecutorError, SimulatorError
from pliant.weighting.final_check import FinalCheck

logger = logging.getLogger("pliant")

Callback = Callable[[dict[str, Any], Posterior], Any]


def infer(
    problem: Problem,
    method: AbstractMethod | None = None,
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
        method: Such as ``pliant.PLI()``, which is also what None stands for.
        seed: All random numbers follow from it.
        folder: Where to save every round, and every draw of a simulator that is not a JAX
            function, as soon as they are made. ``pliant.resume`` continues from there, whatever
            ended the run. The result is saved there too.
        max_simulations: No round starts that would exceed this number of simulator calls.
            ``PLI`` fits the options that it was not given to this budget.
        max_seconds: The run ends within a few seconds of this time. A round that is not finished
            then is discarded; compilation, once begun, is not interrupted.
        progress: Whether to show the rounds: on a terminal and below a notebook's cell as a line
            that is rewritten; elsewhere the logger "pliant" gets a line per round (level INFO).
        callback: Called with the row and the posterior of each round; if it returns True,
            the run ends there.

    Returns:
        The posterior with the run's history and how it ended.

    Warns:
        PliantWarning: If the run ends without success, unless Ctrl-C or the callback ended it; or
            with success, but a posterior that its final check finds unfit.

    Raises:
        TypeError, ValueError: For mistakes that can be found before the first round.
        FileExistsError: If the folder holds a run, a result, or files that are not Pliant's.
        InUseError: If another process uses the folder.
    """
    budget = {"max_simulations": max_simulations, "max_seconds": max_seconds}
    method = PLI() if method is None else method
    plan = make_plan(problem, method, seed=seed, progress=progress, callback=callback, **budget)
    if folder is None:
        return _run(problem, plan, None, None, progress=progress, callback=callback)
    path = check_path("folder", folder)
    check_new(path)
    with RunStore(path) as store:
        return infer_into(store, problem, plan, progress=progress, callback=callback)


def make_plan(
    problem: Problem,
    method: AbstractMethod,
    *,
    seed: int,
    max_simulations: int | None,
    max_seconds: float | None,
    progress: bool = True,
    callback: Callback | None = None,
) -> Plan:
    """Check the arguments of ``infer``, and fit the method to the budget."""
    plan = Plan(method, seed, max_simulations, max_seconds)
    _check(problem, plan, progress, callback)
    method, reason = method.chosen(problem)
    if reason:
        logger.info(reason)
    if max_simulations is not None:
        method = method.within_budget(problem, max_simulations)
    plan = plan._replace(method=method, reason=reason)
    plan.check_sizes(problem)
    return plan


def infer_into(
    store: RunStore,
    problem: Problem,
    plan: Plan,
    *,
    progress: bool = True,
    callback: Callback | None = None,
) -> Result:
    """Make a new run in a folder that this process has locked; see ``infer``."""
    try:
        store.begin(plan, problem)
        return _run(problem, plan, store, None, progress=progress, callback=callback)
    except (TypeError, ValueError):
        if not store.rounds and not store.holds_simulations:  # a mistake in the options
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
    """Continue a run that ``infer(..., folder=...)`` started.

    The result is, bit for bit, that of an uninterrupted run. A run that has ended returns its
    result again. A warning names damaged files, and what they held is computed again.

    Args:
        folder: The run's folder. Method and seed are read from it.
        problem: The same problem; files cannot hold a simulator.
        max_simulations: A new budget; None keeps the old one.
        max_seconds: The same, for the seconds of all parts of the run together.
        progress: As for ``infer``.
        callback: As for ``infer``, for the rounds that are still to be made.
        classes: Your own discrepancy, family or schedule classes, if the run uses any.

    Raises:
        FileNotFoundError: If the folder holds no run.
        ValueError: If the problem is another one, or the plan of the run is damaged.
        InUseError: If another process uses the folder.
    """
    path = check_path("folder", folder)
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: there is no such folder.")
    check_instance("problem", problem, Problem, "pliant.Problem(prior, simulator, observed)")
    check_begun(path)
    with RunStore(path, classes) as store:
        plan = store.plan(problem)
        if max_simulations is not None:
            plan = plan._replace(max_simulations=max_simulations)
        if max_seconds is not None:
            plan = plan._replace(max_seconds=max_seconds)
        _check(problem, plan, progress, callback)
        plan.check_sizes(problem)
        store.write_plan(plan, problem)
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
    keep_compiled_code()
    method, run_key = plan.method, jax.random.key(plan.seed)
    now = last if last is not None else Progress(None, 0, 0.0, (), (), None)
    start, stop = time.monotonic() - now.seconds, now.stop
    most, done = plan.most_simulations(problem), len(now.rows)
    display = Display(method.rounds, enabled=progress, done=done, simulations=most)
    with display, time_limit(start + (plan.max_seconds or math.inf)):
        record = Record(problem.prior.space, now.failures, display.simulating)
        recorded = problem.with_simulator(RecordedSimulator(problem.simulator, record))
        try:
            if last is None:
                record.begin(None if store is None else store.ledger(0))
                state, simulations = method.init(jax.random.fold_in(run_key, 0), recorded)
                now = now._replace(state=state, simulations=simulations, failures=record.failures)
                if store is not None:
                    store.save(0, now)
            if stop is None:
                display.begin()
            for index in range(len(now.rows) + 1, method.rounds + 1):
                seconds = time.monotonic() - start
                stop = stop or plan.budget_stop(problem, now.simulations, seconds)
                if stop is not None:
                    break
                record.begin(None if store is None else store.ledger(index))
                outcome = method.step(jax.random.fold_in(run_key, index), recorded, now.state)
                now = _advance(now, index, outcome, record, time.monotonic() - start)
                if store is not None:
                    store.save(index, now)
                display.update(now.rows[-1])
                stop = now.stop
                if stop is None and callback is not None:
                    posterior = _posterior(problem, method, now.state)
                    stop = _callback_stop(callback, now.rows[-1], posterior)
        except KeyboardInterrupt:
            stop = Stop(Status.INTERRUPTED, f"{_rounds(len(now.rows))} of {method.rounds}.")
        except DeadlineError:
            stop = plan.out_of_time
        except SimulatorError as error:
            kept = _kept(error, store)
            stop = Stop(Status.FAILED, f"{error}{record.explanation()}{kept}")
        except StorageError as error:
            stop = Stop(Status.STORAGE_FAILED, f"{error} {Status.STORAGE_FAILED.remedy}")
    stop = _honest(stop, problem, method, now)
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
        reason=plan.reason,
        likelihood=None if now.state is None else method.likelihood(problem, now.state),
    )
    return warned(result if store is None else _save_or_discard(result, store))


def _honest(stop: Stop | None, problem: Problem, method: AbstractMethod, now: Progress) -> Stop:
    """The end of the run, with how far it is from its target."""
    if stop is None:
        stop = Stop(Status.FINISHED, f"{_rounds(method.rounds)} of {method.rounds}.")
    cut = (Status.FINISHED, Status.OUT_OF_SIMULATIONS, Status.OUT_OF_TIME)
    if (stop.status not in cut and not stop.status.is_wanted) or not now.rows:
        return stop
    shortfall = method.shortfall(problem, now.state, now.rows)
    if not shortfall:
        return stop
    status = Status.CUT_SHORT if stop.status is Status.FINISHED else stop.status
    return Stop(status, f"{stop.message} {shortfall}")


def _check_posterior(problem: Problem, plan: Plan, now: Progress, stop: Stop) -> FinalCheck | None:
    """The method's own check, except after Ctrl-C."""
    if now.state is None or stop.status is Status.INTERRUPTED:
        return None
    key = jax.random.fold_in(jax.random.key(plan.seed), len(now.rows) + 1)
    try:
        return plan.method.check(key, problem, now.state)
    except KeyboardInterrupt:
        return None


def _save_or_discard(result: Result, store: RunStore) -> Result:
    """Save the result in the run's folder, or remove a run without a posterior."""
    if isinstance(result.posterior.density, Prior):
        if not _is_worth_keeping(result.status, store):
            store.discard()
        return result
    try:
        result.save(store.folder, overwrite=True)
    except StorageError as error:
        message = f"{error} This result is complete. Free some space, then save or resume it."
        return dataclasses.replace(result, status=Status.STORAGE_FAILED, message=message)
    return result


def _is_worth_keeping(status: Status, store: RunStore) -> bool:
    """Whether a run without a posterior has something to resume from."""
    if status is Status.FAILED:
        return store.holds_usable_simulations
    return status is Status.STORAGE_FAILED or store.holds_simulations


def _kept(error: SimulatorError, store: RunStore | None) -> str:
    """How to continue after an executor broke."""
    if store is None or not isinstance(error, ExecutorError) or not store.holds_usable_simulations:
        return ""
    return (
        f" The draws made so far are kept: continue with pliant.resume({str(store.folder)!r}, "
        "problem) and a new executor."
    )


def _advance(
    before: Progress, index: int, outcome: Outcome, record: Record, seconds: float
) -> Progress:
    """The progress after a round."""
    simulations = before.simulations + outcome.simulations
    totals = {"simulations": simulations, "seconds": seconds}
    row = {"round": index, **outcome.row, **record.row, **totals}
    stop = outcome.stop
    if stop is not None and stop.status is Status.FAILED:
        stop = stop._replace(message=stop.message + record.explanation())
    return Progress(outcome.state, simulations, seconds, (*before.rows, row), record.failures, stop)


def _check(problem: Any, plan: Plan, progress: Any, callback: Any) -> None:
    """Raise for arguments of ``infer`` that cannot work."""
    check_instance("problem", problem, Problem, "pliant.Problem(prior, simulator, observed)")
    check_instance("method", plan.method, AbstractMethod, "pliant.PLI()")
    check_seed("seed", plan.seed)
    check_instance("progress", progress, bool, "True")
    if plan.max_seconds is not None:
        check_real("max_seconds", plan.max_seconds, above=0)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a function of row and posterior, got {callback!r}.")
    if plan.max_simulations is not None:
        check_integer("max_simulations", plan.max_simulations, at_least=1)


def _posterior(problem: Problem, method: AbstractMethod, state: Any) -> Posterior:
    density = None if state is None else method.posterior(state)
    return Posterior(problem.prior.space, problem.prior if density is None else density)


def _rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


def _callback_stop(callback: Callback, row: dict[str, Any], posterior: Posterior) -> Stop | None:
    if callback(row, posterior) is True:
        message = f"The callback ended the run after round {row['round']}."
        return Stop(Status.STOPPED_BY_CALLBACK, message)
    return None
