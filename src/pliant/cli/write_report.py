"""``pliant report``: write the page of a run into its folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pliant.cli.diagnose import file_digest, write_diagnosis
from pliant.cli.errors import UserError
from pliant.cli.report import console, print_files, say
from pliant.cli.target import has_changed, read_record, read_target_again
from pliant.cli.working import working
from pliant.problem.samples import named
from pliant.run.folder import CONFIG, REPORT, RESULT, holds_result, holds_run
from pliant.run.ownership import is_own

if TYPE_CHECKING:
    from pliant.cli.target import Target
    from pliant.reporting.subject import Known
    from pliant.run.result import Result

_INTERRUPTED = 130


def report_run(folder: Path, *, seed: int, problem: str | None = None) -> int:
    """Write ``report.html``, after a diagnosis if there is none of this result.

    A run that is not finished has a page too, without a diagnosis. The file of a problem is
    executed as ``read_target_again`` describes; ``problem`` names another.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder.")
    if not holds_result(folder) and not holds_run(folder):
        raise UserError(f"{folder} holds no run (there is no {RESULT} in it).")
    config = read_record(folder, problem)
    out = console()
    try:
        with working("loading"):
            check_report(folder)
            target = read_target_again(config, problem)
            told = write_report(folder, target, config, seed=seed)
    except KeyboardInterrupt:
        typer.echo("Interrupted: no report was written.", err=True)
        return _INTERRUPTED
    if has_changed(target, config):
        say(out, f"{target.text} is not the file of the run: this report is for its problem.")
    say(out, told)
    out.print()
    print_files(out, folder)
    return 0


def check_report(folder: Path) -> None:
    """Raise before the long work if there is no charting library, or a page of somebody else."""
    from pliant.reporting.page import charting_library

    path = folder / REPORT
    if path.exists() and not is_own(path):
        raise UserError(f"{path} is not a page of Pliant. Move it, then try again.")
    charting_library()


def write_report(folder: Path, target: "Target", config: dict[str, Any], *, seed: int = 0) -> str:
    """Write the page, and return the verdict in a line."""
    import logging

    from pliant.diagnosis.diagnose import diagnose
    from pliant.reporting.progress import goes_on, read_running
    from pliant.reporting.report import write_page
    from pliant.reporting.saved import read_diagnosis, read_ended
    from pliant.run.result import load

    if goes_on(folder) or not holds_result(folder):
        write_page(folder / REPORT, read_running(folder, known_of(target, config, ended=False)))
        return "The run is not finished, so its page has no diagnosis."
    found = read_diagnosis(folder)
    if found is None or found.get("file") != file_digest(target):
        logging.getLogger("pliant").info("there is no diagnosis of this result yet: making one")
        made = diagnose(load(folder), target.problem, seed=seed)
        write_diagnosis(folder, target, made, seed)
    subject = read_ended(folder, known_of(target, config, ended=True))
    write_page(folder / REPORT, subject)
    verdict = (subject.diagnosis or {}).get("verdict")
    return f"{verdict}: {folder / REPORT}"


def write_failed_report(folder: Path, target: "Target", result: "Result") -> Path:
    """Write the page of a run that gave no posterior, whose folder may be gone."""
    from pliant._files import read_json
    from pliant.diagnosis.diagnose import diagnose
    from pliant.reporting.report import write_page
    from pliant.reporting.subject import subject_of

    folder.mkdir(parents=True, exist_ok=True)
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    config = {"target": target.text, "n_obs": target.problem.n_obs, **config}
    known = known_of(target, config, ended=False)
    diagnosis = diagnose(result, target.problem).as_dict()
    page = folder / REPORT
    write_page(page, subject_of(result, known, diagnosis=diagnosis, folder=str(folder)))
    return page


def known_of(target: "Target", config: dict[str, Any], *, ended: bool) -> "Known":
    """What is known of a target; the exact posterior only once a run has ended."""
    from pliant.reporting.subject import Known

    reference = target.reference() if ended and target.reference is not None else None
    return Known(
        problem=target.problem,
        truth=None if target.truth is None else named(target.truth),
        reference=None if reference is None else named(reference),
        config=config,
    )
