"""``pliant run``: from a target and options to a folder with the result."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pliant.cli.choices import build_method
from pliant.cli.report import console, counted, print_files, print_status, print_summary, say
from pliant.cli.run_folder import check_folder, named, write_run
from pliant.cli.target import read_target

_NO_POSTERIOR = "No round gave a posterior, so nothing was written."
_NOTHING = {"interrupted": "Interrupted before a round was finished: nothing was written."}
_EXIT_CODES = {"failed": 1, "diverged": 1, "interrupted": 130}


def run_target(
    text: str,
    folder: Path,
    *,
    n_obs: int | None,
    seed: int,
    method: str,
    options: Mapping[str, Any],
    budget: Mapping[str, Any],
    given: Mapping[str, Any],
    overwrite: bool,
) -> int:
    """Run, write the folder, and print what came out.

    Args:
        text: A task's name, or ``FILE.py:NAME``.
        folder: Where to write; it is checked before the run.
        n_obs: Observations of a task; None for the default.
        seed: The seed of the observations and of the run.
        method: A name in ``METHODS``.
        options: Of the method, by the command line's names; None keeps a default.
        budget: ``max_simulations`` and ``max_seconds`` for ``pliant.infer``.
        given: What was given on the command line, for the record.
        overwrite: Whether a result in the folder may be replaced.

    Returns:
        The exit code.

    Raises:
        UserError, TypeError, ValueError: For mistakes that can be seen before the first round.
    """
    check_folder(folder, overwrite=overwrite)
    out = console()
    try:
        with Console(stderr=True).status("loading"):
            _keep_compiled_code()
            from pliant.inference import infer
            from pliant.prior import Prior

            target = read_target(text, n_obs, seed)
            problem = target.problem
            inference = build_method(method, problem.n_obs, **options)
        cost = inference.simulations_per_round(problem)
        say(
            out,
            f"{text}: {counted(problem.n_obs, 'observation')}, "
            f"{counted(problem.prior.dim, 'parameter')}; "
            f"{counted(inference.rounds, 'round')} of up to {counted(cost, 'simulation')}",
        )
        result = infer(problem, inference, seed=seed, **budget)
    except KeyboardInterrupt:
        typer.echo(_NOTHING["interrupted"], err=True)
        return _EXIT_CODES["interrupted"]

    print_status(out, result.status, result.message)
    if result.check is not None:
        say(out, result.check.words)
    if isinstance(result.posterior.density, Prior):
        typer.echo(_NOTHING.get(result.status, _NO_POSTERIOR), err=True)
        return _EXIT_CODES.get(result.status, 1)
    with Console(stderr=True).status("writing"):
        samples = write_run(folder, result, target, given, overwrite=overwrite)
    out.print()
    print_summary(out, samples, {} if target.truth is None else named(target.truth))
    last = result.history[-1]
    say(
        out,
        f"\n{counted(len(result.history), 'round')}, "
        f"{counted(last['simulations'], 'simulation')}, {last['seconds']:.1f} seconds\n",
    )
    print_files(out, folder)
    return _EXIT_CODES.get(result.status, 0)


def _keep_compiled_code() -> None:
    """Let JAX keep what it compiles, so that the next run of the same shapes starts at once."""
    import jax

    from pliant.tasks.cache import folder

    if not jax.config.values["jax_compilation_cache_dir"]:
        jax.config.update("jax_compilation_cache_dir", str(folder() / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
