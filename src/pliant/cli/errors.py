"""A user's mistake becomes one line on standard error and exit code 2."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

_OPTIONS = (
    "n_obs|n_particles|n_samples|n_draws|rounds|seed|beta|epsilon|max_simulations|max_seconds"
)


class UserError(Exception):
    """A mistake that the user can fix, described in one line."""


class OneLineErrors(TyperGroup):
    """Print mistakes, including those that typer finds, as ``pliant: ...`` without a frame."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run the command line and exit with its code."""
        try:
            code = super().main(*args, standalone_mode=False, **options)
        except UserError as mistake:
            _fail(str(mistake))
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
    """Turn errors about wrong options or missing extras into a ``UserError``.

    Args:
        traceback: Whether to let the error pass, so that Python prints its traceback.
    """
    try:
        yield
    except UserError as mistake:
        if traceback and mistake.__cause__ is not None:
            raise mistake.__cause__ from None
        raise
    except (ValueError, TypeError, FileExistsError, BlockingIOError, ImportError) as error:
        if traceback:
            raise
        raise UserError(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """The first line of an error's message; arguments appear by their options' names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return re.sub(rf"^({_OPTIONS}):", lambda m: "--" + m[1].replace("_", "-") + ":", text)


def _fail(text: str) -> NoReturn:
    typer.echo(f"pliant: {' '.join(text.split())}", err=True)
    sys.exit(2)
