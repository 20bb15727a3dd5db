"""``pliant eval``: print the metrics of a saved run and write them to its folder."""

from pathlib import Path

import typer

from pliant.cli.errors import UserError
from pliant.cli.report import console, print_files, print_metrics, say
from pliant.cli.target import has_changed, read_config, read_target_again
from pliant.cli.working import working
from pliant.run.folder import METRICS, RESULT, holds_result

_INTERRUPTED = 130


def evaluate_run(folder: Path, *, n_samples: int, problem: str | None = None) -> int:
    """Print all metrics of a run's posterior, write ``metrics.json``, and return the exit code.

    With 10,000 samples of the posterior, they are those of ``samples.npz``. The file of a problem
    is executed as ``read_target_again`` describes; ``problem`` names another.
    """
    if not holds_result(folder):
        raise UserError(f"{folder} holds no run (there is no {RESULT} in it).")
    config = read_config(folder)
    out = console()
    try:
        with working("loading"):
            from pliant._files import write_json
            from pliant.metrics.table import evaluate
            from pliant.run.result import load

            target = read_target_again(config, problem)
            posterior = load(folder).posterior
            options = {"n_samples": n_samples, "seed": config["seed"]}
            rows = evaluate(posterior, target.problem, task=target.task, **options)
    except KeyboardInterrupt:
        typer.echo("Interrupted: nothing was written.", err=True)
        return _INTERRUPTED
    if has_changed(target, config):
        say(out, f"{target.text} is not the file of the run: these metrics are for its problem.")
    print_metrics(out, rows)
    out.print()
    write_json(folder / METRICS, {**options, "metrics": [row._asdict() for row in rows]})
    print_files(out, folder)
    return 0
