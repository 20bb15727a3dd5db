"""``pliant run`` and ``pliant resume``: infer, write the folder, and print the result."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from pliant.cli.choices import build_method
from pliant.cli.dask import on_dask
from pliant.cli.errors import UserError
from pliant.cli.report import (
    console,
    counted,
    print_failures,
    print_files,
    print_status,
    print_summary,
    say,
)
from pliant.cli.run_folder import begin_folder, check_folder, write_run
from pliant.cli.target import Target, has_changed, read_config, read_target, read_target_again
from pliant.cli.watch import shown_live
from pliant.cli.working import log_lines, working
from pliant.cli.write_report import check_report, write_failed_report, write_report
from pliant.problem.samples import named
from pliant.run.folder import RUN, SIMULATIONS, holds_run

if TYPE_CHECKING:
    from pliant.run.result import Result
    from pliant.run.store import Plan

_NO_POSTERIOR = "No round gave a posterior, so nothing was written."
_INTERRUPTED = "Interrupted before a round was finished: nothing was written."
_EXIT_CODE = 130  # of a command that Ctrl-C ended


def run_target(
    text: str,
    folder: Path,
    *,
    n_obs: int | None,
    seed: int,
    method: str,
    options: Mapping[str, Any],
    budget: Mapping[str, Any],
    dask: str | None,
    given: Mapping[str, Any],
    overwrite: bool,
    report: bool = False,
) -> int:
    """Infer, write the folder, print the result, and return the exit code.

    ``options`` and ``budget`` have the command's names, with None for a default; ``given`` is
    what the command line had, to be recorded. ``report`` shows the run while it goes on, and writes
    its page. Mistakes raise before the first round.
    """
    check_folder(folder, overwrite=overwrite)
    out = console()
    with ExitStack() as pages:
        try:
            with working("loading"):
                from pliant._devices import keep_compiled_code
                from pliant.run.infer import infer_into, make_plan
                from pliant.run.store import RunStore

                keep_compiled_code()
                target = read_target(text, n_obs, seed)
                problem = target.problem
                inference = build_method(method, problem.n_obs, **options)
                if report:
                    check_report(folder)
            with on_dask(problem, dask) as spread:
                plan = make_plan(spread, inference, seed=seed, **budget)
                with RunStore(folder) as store, log_lines():
                    check_folder(folder, overwrite=overwrite)  # now nobody else can change it
                    begin_folder(folder, target, plan.method, seed, given)
                    _announce(out, target, plan)
                    if report:
                        server = pages.enter_context(shown_live(folder, target))
                        say(out, f"The run is shown at {server.address}")
                    result = infer_into(store, spread, plan)
        except KeyboardInterrupt:
            typer.echo(_INTERRUPTED, err=True)
            return _EXIT_CODE
        code = _finish(out, folder, target, result)
        return _report(out, folder, target, result, code) if report else code


def _report(out: Console, folder: Path, target: Target, result: "Result", code: int) -> int:
    """Write the page of a run that has ended, and return the exit code."""
    from pliant.methods.status import Status

    if result.status is Status.STORAGE_FAILED:
        return code
    if result.posterior.is_prior and result.status is Status.INTERRUPTED:
        return code
    try:
        with working("writing the report"):
            if result.posterior.is_prior:
                told = str(write_failed_report(folder, target, result))
            else:
                told = write_report(folder, target, read_config(folder))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted: pliant report {folder} writes the report.", err=True)
        return _EXIT_CODE
    say(out, told)
    return code


def resume_target(
    folder: Path, *, budget: Mapping[str, Any], dask: str | None, problem: str | None = None
) -> int:
    """Resume a run, print the result, and return the exit code; a budget of None is the run's.

    The file of a problem is executed as ``read_target_again`` describes; ``problem`` names another.
    """
    if not holds_run(folder):
        raise UserError(f"{folder} holds no run that can be resumed (there is no {RUN} in it).")
    config = read_config(folder)
    out = console()
    try:
        with working("loading"):
            from pliant._devices import keep_compiled_code
            from pliant.run.infer import resume

            keep_compiled_code()
            target = read_target_again(config, problem)
        if has_changed(target, config):
            say(
                out,
                f"{target.text} is not the file of the run, which resumes with it.",
            )
        with on_dask(target.problem, dask) as spread, log_lines():
            result = resume(folder, spread, **budget)
    except KeyboardInterrupt:
        typer.echo(_draws_kept(folder), err=True)
        return _EXIT_CODE
    return _finish(out, folder, target, result)


def _announce(out: Console, target: Target, plan: "Plan") -> None:
    """Print what the run will do, and why the method does it like this."""
    problem, method = target.problem, plan.method
    say(
        out,
        f"{target.text}: {counted(problem.n_obs, 'observation')}, "
        f"{counted(problem.prior.dim, 'parameter')}; {counted(method.rounds, 'round')} of up to "
        f"{counted(method.simulations_per_round(problem), 'simulation')}",
    )
    if plan.reason:
        say(out, plan.reason)
    if not problem.simulator.compiled:
        calls = counted(plan.most_simulations(problem), "time")
        say(out, f"The rounds call the simulator at most {calls}; --max-simulations limits this.")


def _finish(out: Console, folder: Path, target: Target, result: "Result") -> int:
    """Print how the run ended, and write samples and plots."""
    from pliant.methods.status import Status
    from pliant.problem.prior import Prior

    interrupted = result.status is Status.INTERRUPTED
    print_status(out, result.status, result.message)
    if result.check is not None:
        say(out, result.check.message)
    print_failures(out, result.failures)
    if isinstance(result.posterior.density, Prior):
        text = _INTERRUPTED if interrupted else _NO_POSTERIOR
        typer.echo(_draws_kept(folder) if holds_run(folder) else text, err=True)
        return _EXIT_CODE if interrupted else 1
    if result.status is Status.STORAGE_FAILED:
        return 1
    with working("writing samples and plots"):
        samples = write_run(folder, result, target)
    out.print()
    print_summary(out, samples, {} if target.truth is None else named(target.truth))
    last = result.history[-1]
    say(
        out,
        f"\n{counted(len(result.history), 'round')}, "
        f"{counted(last['simulations'], 'simulation')}, {last['seconds']:.1f} seconds\n",
    )
    print_files(out, folder)
    return _EXIT_CODE if interrupted else int(result.status.is_error)


def _draws_kept(folder: Path) -> str:
    kept = ", but the draws are kept" if (folder / SIMULATIONS).is_dir() else ""
    return (
        f"No round was finished{kept}. Resume with: pliant resume {folder} "
        "(or start again with --overwrite)"
    )
