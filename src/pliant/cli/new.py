"""``pliant new``: write a template of a problem, which runs as it is."""

import importlib.util
import re
import shlex
from importlib.resources import files
from pathlib import Path

import typer

from pliant.cli.errors import UserError

SIMULATORS = {
    "jax": "a function that Pliant compiles",
    "numpy": "any other Python function",
    "program": "an external program, with a stand-in for yours beside the file",
}
"""What the simulator of a template is."""

_STEM = "my_model"  # in the templates, which have the files' names in their texts
_BUDGETS = {"numpy": 50_000, "program": 2_000}  # that the templates name: other runs are long


def write_template(path: Path, simulator: str) -> None:
    """Write the template, and tell how to run it.

    Raises:
        UserError: If the name cannot be that of a problem's file, or the folder does not exist.
        FileExistsError: If a file would be replaced.
    """
    _check_name(path)
    texts = {path: _template(simulator)}
    if simulator == "program":
        texts[path.with_name(f"{path.stem}_program.py")] = _template("program_beside")
    for file in texts:
        if file.exists() or file.is_symlink():
            raise FileExistsError(f"{file} exists already. Choose another name.")
    _check_module(path)
    for file, text in texts.items():
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text.replace(_STEM, path.stem))
        typer.echo(f"Wrote {file}.")
    limit = f" --max-simulations {_BUDGETS[simulator]}" if simulator in _BUDGETS else ""
    typer.echo(f"Run it with: pliant run {shlex.quote(f'{path}:problem')}{limit}")


def _template(name: str) -> str:
    return (files("pliant.cli") / "templates" / f"{name}.txt").read_text(encoding="utf-8")


def _check_name(path: Path) -> None:
    """Raise if the file could not be run, or could not be written."""
    if path.suffix != ".py" or not re.fullmatch(r"\w[\w-]*", path.stem):
        raise UserError(
            f"expected a file name of letters, digits, _ and -, with .py at its end, such as "
            f"my_model.py, got {path.name!r}."
        )
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder. Create it first.")


def _check_module(path: Path) -> None:
    """Raise if the file would hide a module that it or others import."""
    if path.stem.isidentifier() and importlib.util.find_spec(path.stem):
        raise UserError(
            f"{path.name}: {path.stem} is the name of a Python module, which the file would hide. "
            "Choose another name."
        )
