"""``pliant.report``: the page of a result, in one file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant._checks import check_instance, check_path
from pliant._files import replacing
from pliant.diagnosis.diagnose import check_pair, diagnose
from pliant.diagnosis.diagnosis import Diagnosis
from pliant.problem.problem import Problem
from pliant.problem.samples import named
from pliant.reporting.content import content_of
from pliant.reporting.page import charting_library, report_page
from pliant.reporting.subject import Known, Subject, subject_of
from pliant.run.result import Result


def report(
    result: Result,
    problem: Problem,
    path: str | Path = "report.html",
    *,
    diagnosis: Diagnosis | None = None,
    truth: Any = None,
    reference: Any = None,
) -> Path:
    """Write a page about a result: one HTML file that opens anywhere and loads nothing.

    It shows the verdict of ``pliant.diagnose`` with each check and its remedy, the problem, the
    posterior as a table and as pair plots, beside the prior, the history of the run, predictive
    checks, the observations that the model explains least, calibration, and how to repeat it all.

    Args:
        result: What ``infer`` or ``load`` returned.
        problem: The problem of the run.
        path: The file to write. An existing one is replaced.
        diagnosis: What ``pliant.diagnose`` returned. If None, it is made, which simulates 100 to
            200 sets of N.
        truth: The true parameters, in the prior's structure, if you know them.
        reference: Samples to compare with, in the form of ``Posterior.sample``, such as exact ones.

    Returns:
        The file.

    Raises:
        TypeError, ValueError: If the problem is not that of the result.
        ImportError: If the charting library is not installed.
    """
    check_pair(result, problem)
    file = check_path("path", path)
    charting_library()  # the long work comes after what can be missing
    if diagnosis is None:
        diagnosis = diagnose(result, problem)
    check_instance("diagnosis", diagnosis, Diagnosis, "pliant.diagnose(result, problem)")
    known = Known(problem, _named(truth), _named(reference))
    write_page(file, subject_of(result, known, diagnosis=diagnosis.as_dict()))
    return file


def write_page(path: Path, subject: Subject) -> None:
    """Write the page of a run, in place of the one before."""
    page = report_page(content_of(subject))
    with replacing(path) as file:
        file.write(page.encode())


def _named(theta: Any) -> Mapping[str, Any] | None:
    return None if theta is None else named(theta)
