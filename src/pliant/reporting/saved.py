"""What a run's folder holds for its page: the result with its samples, and its diagnosis."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant._files import read_arrays, read_json
from pliant.problem.samples import as_table
from pliant.reporting.checks import checks_of
from pliant.reporting.subject import Known, Subject, subject_of
from pliant.run import folder as layout
from pliant.run.result import Result, load

OF = "of"
"""The field of a diagnosis that says which result it is about."""


def result_digest(folder: Path) -> str:
    """The SHA-256 of the files that a diagnosis depends on."""
    digest = hashlib.sha256()
    for name in (layout.RESULT, layout.HISTORY, layout.POSTERIOR):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def read_diagnosis(folder: Path) -> dict[str, Any] | None:
    """The diagnosis of the result in a folder.

    None if there is none, if it is damaged, or if it is about another result.
    """
    try:
        found = read_json(folder / layout.DIAGNOSIS)
        if found.get(OF) != result_digest(folder):
            return None
        checks_of(found)
    except (OSError, ValueError):
        return None
    return found


def read_samples(folder: Path, result: Result) -> Mapping[str, Any] | None:
    """The samples that ``pliant run`` wrote; None if they are not there or do not fit."""
    names = result.posterior.space.names or ("theta",)
    try:
        samples = read_arrays(folder / layout.SAMPLES)
        as_table(samples, names)
    except (OSError, ValueError):
        return None
    shapes = dict(zip(names, result.posterior.space.shapes, strict=True))
    fits = {name: samples[name].shape[1:] for name in names} == shapes
    return {name: samples[name] for name in names} if fits else None


def read_ended(folder: Path, known: Known) -> Subject:
    """A run that has ended, with its diagnosis if there is one.

    Raises:
        FileNotFoundError, ValueError: If the folder holds no result, or a file is damaged.
    """
    result = load(folder)
    return subject_of(
        result,
        known,
        diagnosis=read_diagnosis(folder),
        samples=read_samples(folder, result),
        folder=str(folder),
    )
