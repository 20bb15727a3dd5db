"""The folder of a run: the result, and with it how it was made, samples and pictures."""

import contextlib
import os
import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pliant
from pliant.cli.errors import UserError
from pliant.problem.samples import named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cli.target import Target
    from pliant.methods.base import AbstractMethod
    from pliant.run.result import Result

CONTENTS = {
    "run.json": "what the run was asked to do; pliant resume goes on with it",
    "rounds": "the last rounds",
    "simulations": "the draws of a simulator that is not written in JAX",
    "result.json": "status and options",
    "posterior.npz": "the posterior; read all three with pliant.load",
    "history.json": "one row a round",
    "config.json": "all that is needed to repeat the run",
    "samples.npz": "10,000 samples by name",
    "pairs.png": "the posterior, every pair of parameters",
    "history.png": "how the run went",
    "metrics.json": "how good the posterior is, by pliant eval",
}
N_SAMPLES = 10_000


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Make sure, before the run, that its result can be written.

    Raises:
        UserError: If the folder holds a result, is a file, or cannot be written to.
    """
    if (folder / "result.json").exists() and not overwrite:
        raise UserError(
            f"{folder} holds a result already. Choose another --out, or --overwrite it."
        )
    if (folder / "run.json").exists() and not overwrite:
        raise UserError(
            f"{folder} holds a run that is not finished. pliant resume {folder} goes on with it; "
            "or choose another --out, or --overwrite it."
        )
    existing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not existing.is_dir():
        raise UserError(f"--out: {existing} is a file, not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"--out: {existing} cannot be written to.")


def begin_folder(
    folder: Path, target: "Target", method: "AbstractMethod", seed: int, given: Mapping[str, Any]
) -> list[Path]:
    """Write how the run is made, in place of any other that was there.

    Args:
        folder: It is made if it does not exist.
        target: What is inferred.
        method: With its options.
        seed: Of the run.
        given: The options of the command line by their names, without those left out.

    Returns:
        The folders that were made, the innermost first.
    """
    from pliant._files import write_json
    from pliant.run.folder import remove_run

    made = [path for path in (folder, *folder.parents) if not path.exists()]

    remove_run(folder)
    for name in CONTENTS:
        if (folder / name).is_file():
            (folder / name).unlink()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", _config(method, seed, target, given))
    return made


def leave_folder(folder: Path, made: list[Path]) -> None:
    """Take back what ``begin_folder`` did, if the run came to nothing."""
    if not (folder / "run.json").exists():
        (folder / "config.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in there
            for path in made:
                path.rmdir()


def write_run(folder: Path, result: "Result", target: "Target") -> dict[str, Any]:
    """Write samples and pictures beside the result, which is there already.

    Returns:
        The samples, by name.
    """
    from pliant._files import write_arrays
    from pliant.plots.history import plot_history
    from pliant.plots.pairs import plot_pairs

    (folder / "metrics.json").unlink(missing_ok=True)  # those of the run before it was resumed
    samples = named(result.posterior.sample(N_SAMPLES, seed=result.seed))
    write_arrays(folder / "samples.npz", samples)

    method: Any = result.method
    epsilon = getattr(getattr(method, "schedule", None), "epsilon", None)
    limit = getattr(method, "noise_limit", None)
    _write_figure(
        folder / "history.png", plot_history(result.history, epsilon=epsilon, noise_limit=limit)
    )
    reference = target.reference() if target.reference is not None else None
    truth = None if target.truth is None else named(target.truth)
    _write_figure(folder / "pairs.png", plot_pairs(samples, truth=truth, reference=reference))
    return samples


def changed_options(method: Any) -> dict[str, Any]:
    """The options that differ from the method's defaults; modules as Python would make them."""
    from pliant.run.config import encode

    data, usual = encode(method), encode(type(method)())
    return {name: _python(value) for name, value in data.items() if value != usual[name]}


def _python(value: Any) -> Any:
    """``{"class": "Gaussian", ...}`` as ``Gaussian(...)`` with what differs from its defaults."""
    from pliant.run.config import encode

    if not isinstance(value, dict):
        return value
    usual = encode(getattr(pliant, value["class"])())
    changed = {name: _python(v) for name, v in value.items() if v != usual[name]}
    return f"{value['class']}({', '.join(f'{name}={v}' for name, v in changed.items())})"


def _config(
    method: "AbstractMethod", seed: int, target: "Target", given: Mapping[str, Any]
) -> dict[str, Any]:
    import jax
    import numpy as np

    from pliant.run.config import encode

    problem = target.problem
    truth = {} if target.truth is None else named(target.truth)
    return {
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


def _write_figure(path: Path, figure: "Figure") -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(aside, format="png")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
