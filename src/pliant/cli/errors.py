"""A mistake becomes one line on standard error and exit code 2; a failing disk, exit code 1."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from pliant.cli.printable import printable

_OPTIONS = (
    "n_obs|n_particles|n_samples|n_draws|rounds|seed|beta|epsilon|max_simulations|max_seconds"
)

_WRONG_PATHS = (
    *(FileExistsError, FileNotFoundError, NotADirectoryError, IsADirectoryError),
    BlockingIOError,  # a folder that another process uses
)


class UserError(Exception):
    """A mistake that the user can fix, described in one line.

    Args:
        message: The line.
        code: The exit code: 2 for a mistake in the command, 1 for a machine that fails.
    """

    def __init__(self, message: str, code: int = 2):
        super().__init__(message)
        self.code = code


class OneLineErrors(TyperGroup):
    """Print mistakes, including those that typer finds, as ``pliant: ...`` without a frame."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run the command line and exit with its code."""
        try:
            code = super().main(*args, standalone_mode=False, **options)
        except UserError as mistake:
            _fail(str(mistake), mistake.code)
        except Exception as error:
            # typer's errors about the user's input have a format_message
            if not hasattr(error, "format_message"):
                raise
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "pliant"
            _fail(f"{error.format_message()} See {command} --help.")  # pyright: ignore
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def mistakes(*, traceback: bool = False) -> Iterator[None]:
    """Turn errors about wrong options, missing extras, files and disks into a ``UserError``.

    Args:
        traceback: Whether to let the error pass, so that Python prints its traceback.
    """
    try:
        yield
    except UserError as mistake:
        if traceback and mistake.__cause__ is not None:
            raise mistake.__cause__ from None
        raise
    except BrokenPipeError:  # the reader has gone, as in pliant show ... | head
        raise
    except (ValueError, TypeError, ImportError, OSError) as error:
        if traceback:
            raise
        failed = isinstance(error, OSError) and not isinstance(error, _WRONG_PATHS)
        raise UserError(first_line(error), 1 if failed else 2) from error


def first_line(error: BaseException) -> str:
    """The first line of an error's message; arguments appear by their options' names.

    An error of the operating system names its file first: ``FILE: No such file or directory.``
    """
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{name}{error.strerror}."
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return re.sub(rf"^({_OPTIONS}):", lambda m: "--" + m[1].replace("_", "-") + ":", text)


def _fail(text: str, code: int = 2) -> NoReturn:
    typer.echo(f"pliant: {printable(' '.join(text.split()))}", err=True)
    sys.exit(code)
