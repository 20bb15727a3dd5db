"""``pliant eval``: the metrics of a saved run, on the terminal and in its folder."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pliant.cli.errors import UserError
from pliant.cli.report import console, print_files, print_metrics, say
from pliant.cli.target import Target, is_file, read_target

_INTERRUPTED = 130


def evaluate_run(folder: Path, *, n_samples: int) -> int:
    """Compute all metrics of the run's posterior, print them, and write ``metrics.json``.

    Args:
        folder: Of a run by ``pliant run``.
        n_samples: Of the posterior and of the exact one. 10,000 are those of ``samples.npz``.

    Returns:
        The exit code.

    Raises:
        UserError, ImportError, TypeError, ValueError: If the folder holds no such run, its target
            cannot be read again, an option is out of range or an extra is missing.
    """
    config = _read_config(folder)
    out = console()
    try:
        with Console(stderr=True).status("loading") as status:
            from pliant.files import write_json
            from pliant.metrics.table import evaluate
            from pliant.result import load

            posterior = load(folder).posterior
            target = _read_target(config)
            status.update("measuring")
            rows = evaluate(
                posterior,
                target.problem,
                task=target.task,
                n_samples=n_samples,
                seed=config["seed"],
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted: nothing was written.", err=True)
        return _INTERRUPTED
    write_json(
        folder / "metrics.json",
        {
            "n_samples": n_samples,
            "seed": config["seed"],
            "metrics": [row._asdict() for row in rows],
        },
    )
    if _changed(target, config):
        say(out, f"{target.text} has changed since the run: these are metrics of its new problem.")
    print_metrics(out, rows)
    out.print()
    print_files(out, folder)
    return 0


def _read_config(folder: Path) -> dict[str, Any]:
    from pliant.files import read_json

    if not (folder / "result.json").is_file():
        raise UserError(f"{folder} holds no run (there is no result.json in it).")
    if not (folder / "config.json").is_file():
        raise UserError(
            f"{folder} does not say which problem it solves (there is no config.json in it). A "
            "result that was saved from Python is scored there: pliant.metrics.table.evaluate."
        )
    config = read_json(folder / "config.json")
    if not isinstance(config, dict) or not {"target", "file", "n_obs", "seed"} <= set(config):
        raise UserError(f"{folder}: config.json is damaged or of another version.")
    return config


def _read_target(config: dict[str, Any]) -> Target:
    """The target again; a user's file is found from any working directory."""
    text, n_obs = config["target"], config["n_obs"]
    if is_file(text):
        text, n_obs = f"{config['file']['path']}:{text.rpartition(':')[2]}", None
    return read_target(text, n_obs, config["seed"])


def _changed(target: Target, config: dict[str, Any]) -> bool:
    return target.file is not None and target.file["sha256"] != config["file"]["sha256"]
