"""What the command line writes beside a result: how it was made, samples and pictures."""

import logging
import os
import platform
import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pliant
from pliant.cli.errors import UserError
from pliant.problem.samples import named
from pliant.run import folder as layout
from pliant.run.ownership import check_own, remove_evaluations, remove_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cli.target import Target
    from pliant.methods.base import AbstractMethod
    from pliant.run.result import Result

logger = logging.getLogger("pliant")

N_SAMPLES = 10_000


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise before the run if its result could not be written, or would replace other files."""
    existing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not existing.is_dir():
        raise UserError(f"--out: {existing} is a file, not a folder.")
    check_own(folder)
    if layout.holds_result(folder) and not overwrite:
        raise UserError(
            f"{folder} holds a result already. Choose another --out, or --overwrite it."
        )
    if layout.holds_run(folder) and not overwrite:
        raise UserError(
            f"{folder} holds a run that is not finished. Continue it with pliant resume {folder}, "
            "choose another --out, or --overwrite it."
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"--out: {existing} cannot be written to.")


def begin_folder(
    folder: Path, target: "Target", method: "AbstractMethod", seed: int, given: Mapping[str, Any]
) -> None:
    """Remove any run that is there, and write how the new one is made.

    The folder has to be locked and checked.
    """
    from pliant._files import write_json

    remove_run(folder)
    write_json(folder / layout.CONFIG, _config(method, seed, target, given))


def write_run(folder: Path, result: "Result", target: "Target") -> dict[str, Any]:
    """Write samples and pictures beside the result, and return the samples by name."""
    from pliant._files import write_arrays
    from pliant.plots.pairs import plot_pairs

    remove_evaluations(folder)  # those of the run before it was resumed
    samples = named(result.posterior.sample(N_SAMPLES, seed=result.seed))
    write_arrays(folder / layout.SAMPLES, samples)
    write_figure(folder / layout.HISTORY_FIGURE, result.plot_history())
    if target.reference is not None:
        logger.info("drawing samples of the exact posterior")
    reference = target.reference() if target.reference is not None else None
    truth = None if target.truth is None else named(target.truth)
    exact = {"reference": reference, "reference_name": "exact posterior"}
    pairs = plot_pairs(samples, truth=truth, **exact)
    write_figure(folder / layout.PAIRS_FIGURE, pairs)
    return samples


def changed_options(options: Any) -> dict[str, Any]:
    """The options that differ from the defaults of their class, modules as Python code."""
    from pliant.run.serialise import encode

    usual = type(options)()
    pairs = {f.name: (getattr(options, f.name), getattr(usual, f.name)) for f in fields(options)}
    return {
        name: _python(value)
        for name, (value, default) in pairs.items()
        if encode(value) != encode(default)
    }


def _python(value: Any) -> Any:
    """A module as ``Gaussian(...)`` with its changed options; anything else as JSON data."""
    import numpy as np

    if is_dataclass(value):
        changed = ", ".join(f"{name}={v}" for name, v in changed_options(value).items())
        return f"{type(value).__name__}({changed})"
    return np.asarray(value).tolist() if hasattr(value, "shape") else value


def _config(
    method: "AbstractMethod", seed: int, target: "Target", given: Mapping[str, Any]
) -> dict[str, Any]:
    import jax
    import numpy as np

    from pliant.run.serialise import encode

    problem = target.problem
    truth = {} if target.truth is None else named(target.truth)
    return {
        "format": layout.FORMAT,
        "command": command_line(target.text, given),
        "target": target.text,
        "file": target.file,
        "n_obs": problem.n_obs,
        "seed": seed,
        "given": dict(given),
        "resolved": encode(method.resolved(problem)),
        "changed": changed_options(method),
        "truth": {name: np.asarray(value).tolist() for name, value in truth.items()},
        "versions": {
            "pliant": pliant.__version__,
            **{name: version(name) for name in ("jax", "jaxlib", "numpyro", "numpy")},
            "python": platform.python_version(),
        },
        "platform": platform.platform(),
        "device": str(jax.devices()[0]),
    }


def command_line(target: str, given: Mapping[str, Any]) -> str:
    """The command that repeats the run."""
    words = ["pliant", "run", target]
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def write_figure(path: Path, figure: "Figure") -> None:
    """Write a picture, in place of the one before."""
    from pliant._files import replacing

    with replacing(path) as file:
        figure.savefig(file, format="png")
