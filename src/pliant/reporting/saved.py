"""What a run's folder holds for its page: the result with its samples, and its diagnosis."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant._files import read_arrays, read_json
from pliant.diagnosis.diagnose import check_pair
from pliant.methods.status import Status
from pliant.problem.samples import as_table, named
from pliant.reporting.checks import checks_of
from pliant.reporting.subject import N_SAMPLES, Known, Subject, subject_of
from pliant.run import folder as layout
from pliant.run.failures import Failure
from pliant.run.history import read_history
from pliant.run.posterior import Posterior
from pliant.run.result import Result, load, read_parts
from pliant.run.serialise import build, reading

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
    """A run that has ended, with its diagnosis if there is one. Another problem is left out.

    Raises:
        FileNotFoundError, ValueError: If the folder holds no result, or a file is damaged.
    """
    result = load(folder)
    try:
        check_pair(result, known.problem)
    except (TypeError, ValueError):
        known = dataclasses.replace(known, problem=None)
    return subject_of(
        result,
        known,
        diagnosis=read_diagnosis(folder),
        samples=read_samples(folder, result),
        folder=str(folder),
    )


def read_outline(folder: Path, known: Known, why: str) -> Subject | None:
    """How a run ended, its history, and its posterior if that can be read without the rest.

    A method with a user's own class is an example: its files cannot bring the class.

    Args:
        folder: Of the run.
        known: Problem, truth, reference and configuration.
        why: What was wrong with the result.

    Returns:
        None if not even this can be read.
    """
    path = folder / layout.RESULT
    try:
        data = read_json(path)
        layout.check_format(path, data)
        with reading(path):
            seed, posterior = int(data["seed"]), _posterior(folder)
            samples = None if posterior is None else posterior.sample(N_SAMPLES, seed=seed)
            return Subject(
                history=read_history(folder),
                method=None,
                seed=seed,
                status=Status(data["status"]),
                message=f"{data['message']} Not all of the result can be shown: {why}",
                failures=tuple(build(Failure, failure) for failure in data["failures"]),
                check=None if data["check"] is None else str(data["check"]),
                reason=str(data["reason"]),
                posterior=posterior,
                samples=None if samples is None else named(samples),
                known=known,
                folder=str(folder),
            )
    except (OSError, ValueError):
        return None


def _posterior(folder: Path) -> Posterior | None:
    try:
        return read_parts(folder / layout.POSTERIOR, {})["posterior"]
    except (OSError, ValueError):
        return None
