"""``pliant diagnose``: print whether a saved run can be trusted, and write it to its folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from pliant.cli.errors import UserError
from pliant.cli.printable import printable
from pliant.cli.report import console, print_files, print_table, say
from pliant.cli.run_folder import write_figure
from pliant.cli.target import has_changed, read_config, read_target_again
from pliant.cli.working import working
from pliant.run.folder import DIAGNOSIS, DIAGNOSIS_FIGURE, RESULT, holds_result

if TYPE_CHECKING:
    from rich.console import Console

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
    config = read_config(folder)
    out = console()
    try:
        with working("loading"):
            from pliant._files import write_json
            from pliant.diagnosis.diagnose import diagnose
            from pliant.run.result import load

            target = read_target_again(config, problem)
            options = {"reruns": reruns, "workers": workers, "folder": folder}
            found = diagnose(load(folder), target.problem, seed=seed, **options)
            figure = found.plot()
    except KeyboardInterrupt:
        typer.echo("Interrupted: no diagnosis was written.", err=True)
        return _INTERRUPTED
    if has_changed(target, config):
        say(out, f"{target.text} is not the file of the run: this diagnosis is for its problem.")
    _print_diagnosis(out, found)
    write_json(folder / DIAGNOSIS, {"seed": seed, **found.as_dict()})
    write_figure(folder / DIAGNOSIS_FIGURE, figure)
    out.print()
    print_files(out, folder)
    return 1 if found.verdict == "unsound" else 0


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
