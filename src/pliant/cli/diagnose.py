"""``pliant diagnose``: print whether a saved run can be trusted, and write it to its folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from pliant.cli.errors import UserError
from pliant.cli.printable import printable
from pliant.cli.report import console, print_files, print_table, say
from pliant.cli.run_folder import write_figure
from pliant.cli.target import has_changed, read_record, read_target_again
from pliant.cli.working import working
from pliant.run.folder import DIAGNOSIS, DIAGNOSIS_FIGURE, REPORT, RESULT, holds_result
from pliant.run.ownership import is_own

if TYPE_CHECKING:
    from rich.console import Console

    from pliant.cli.target import Target
    from pliant.diagnosis.diagnosis import Diagnosis

_INTERRUPTED = 130
_COLOURS = {"sound": "green", "doubtful": "yellow", "unsound": "red"}
_WORST = 5  # observations that are printed


def diagnose_run(
    folder: Path, *, seed: int, reruns: int, workers: int, problem: str | None = None
) -> int:
    """Print the verdict, write ``diagnosis.json`` and its picture, and return the exit code.

    The file of a problem is executed as ``read_target_again`` describes; ``problem`` names another.
    """
    if not holds_result(folder):
        raise UserError(f"{folder} holds no run (there is no {RESULT} in it).")
    config = read_record(folder, problem)
    out = console()
    try:
        with working("loading"):
            from pliant.diagnosis.diagnose import diagnose
            from pliant.run.result import load

            target = read_target_again(config, problem)
            options = {"reruns": reruns, "workers": workers, "folder": folder}
            found = diagnose(load(folder), target.problem, seed=seed, **options)
            write_diagnosis(folder, target, found, seed)
    except KeyboardInterrupt:
        typer.echo("Interrupted: no diagnosis was written.", err=True)
        return _INTERRUPTED
    if has_changed(target, config):
        say(out, f"{target.text} is not the file of the run: this diagnosis is for its problem.")
    _print_diagnosis(out, found)
    out.print()
    print_files(out, folder)
    return 1 if found.verdict == "unsound" else 0


def write_diagnosis(folder: Path, target: "Target", found: "Diagnosis", seed: int) -> None:
    """Write a diagnosis and its picture, with what it is about, and remove a page of another."""
    from pliant._files import write_json
    from pliant.reporting.saved import OF, result_digest

    figure = found.plot()
    about = {OF: result_digest(folder), "file": file_digest(target)}
    if is_own(folder / REPORT):
        (folder / REPORT).unlink()
    write_json(folder / DIAGNOSIS, {"seed": seed, **about, **found.as_dict()})
    write_figure(folder / DIAGNOSIS_FIGURE, figure)


def file_digest(target: "Target") -> str | None:
    """The digest of a user's file, which says which problem was looked at; None for a task."""
    return None if target.file is None else str(target.file["sha256"])


def _print_diagnosis(out: "Console", found: "Diagnosis") -> None:
    verdict = Text(found.verdict, style=f"bold {_COLOURS[found.verdict]}")
    say(out, Text.assemble(verdict, printable(f": {found.verdict.meaning}")))
    for line in str(found).splitlines()[1:]:
        out.print(printable(line), soft_wrap=True)
    table = found.observations
    if table is None or not len(table.accused):
        return
    out.print()
    columns = zip(table.index, table.p_value, table.influence, strict=True)
    rows = [[str(i), f"{p:.1e}", f"{moved:.2g}"] for i, p, moved in list(columns)[:_WORST]]
    print_table(out, ["observation", "p-value", "moves a mean by"], rows)
