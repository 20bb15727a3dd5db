"""One run of an external program, in its own scratch folder that is always removed.

Workers import this module, so it imports neither JAX nor the rest of Pliant.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.simulators import reaper
from pliant.simulators.layout import Layout
from pliant.simulators.worker import OutOfTimeError

if TYPE_CHECKING:
    from jaxtyping import UInt

FORMATS = ("json", "csv", "npy")
_TAIL = 1000  # characters of standard error that an error keeps


class CommandError(Exception):
    """A program that failed, or whose output could not be read."""


@dataclass
class CommandCall:
    """Runs a command with a parameter and a seed, and reads one draw from what it wrote.

    Args:
        command: The program and its arguments, with ``{name}`` for parameters and the seed.
        read: A format of standard output, a file name, or a function of the scratch folder.
        timeout: Seconds after which all processes of the run are killed; None for no limit.
        event: The shape of a draw, which CSV does not contain.
        layout: The structure of a draw, if it is a dict of arrays.
    """

    command: tuple[str, ...]
    read: str | Callable[[Path], Any]
    timeout: float | None
    event: tuple[int, ...]
    layout: Layout | None = None

    def __call__(self, words: UInt[np.ndarray, "4"], theta: Any, *condition: Any) -> Any:
        """One draw; its seed is a number of 31 bits."""
        named = dict(theta) if isinstance(theta, Mapping) else {"theta": theta}
        for given in condition:
            named |= given if isinstance(given, Mapping) else {"condition": given}
        values = {name: np.asarray(value).tolist() for name, value in named.items()}
        values["seed"] = int(words[0] >> np.uint64(33))
        folder = Path(tempfile.gettempdir(), f"pliant-{os.urandom(8).hex()}")
        _tell("open", folder)
        try:
            folder.mkdir(mode=0o700)
            (folder / "parameters.json").write_text(json.dumps(values))
            self._run([filled(word, values) for word in self.command], folder)
            return self._output(folder)
        except BaseException:  # perhaps an interrupt, before the group was known
            reaper.kill_all(str(folder))
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            _tell("close", folder)

    def _run(self, command: list[str], folder: Path) -> None:
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    env={**os.environ, reaper.MARK: _marks(folder)},
                )
            except OSError as error:
                raise CommandError(f"{command[0]} could not be started: {error}.") from error
        _tell("group", folder, process.pid)
        late = threading.Event()

        def end() -> None:
            late.set()
            reaper.kill_group(process.pid)

        timer = threading.Timer(self.timeout or 0, end)
        timer.daemon = True
        with _running_lock:
            _running.add(process.pid)
        try:
            if self.timeout is not None:
                timer.start()
            code = process.wait()
        finally:
            timer.cancel()
            reaper.kill_group(process.pid)  # including processes that the program left behind
            process.wait()
            with _running_lock:
                _running.discard(process.pid)
        if late.is_set():
            raise OutOfTimeError(f"took longer than {self.timeout:g} s{_stderr_tail(folder)}")
        if code != 0:
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            raise CommandError(f"{Path(command[0]).name} {ended}{_stderr_tail(folder)}")

    def _output(self, folder: Path) -> Any:
        try:
            if callable(self.read):
                value = self.read(folder)
            elif self.read in FORMATS:
                value = _parsed(folder / "stdout", self.read, self.event)
            else:
                value = _parsed(folder / self.read, self.read.rpartition(".")[2], self.event)
            if self.layout is None:
                return np.asarray(value)
            one = not isinstance(value, Mapping) and np.shape(value) == self.event
            return self.layout.split(np.asarray(value)) if one else value
        except (OSError, ValueError, TypeError, EOFError) as error:
            what = "standard output" if self.read in FORMATS else self.read
            raise CommandError(
                f"{what} could not be read: {type(error).__name__}: {error}{_stderr_tail(folder)}"
            ) from error


def end_all() -> None:
    """Kill every command that this process runs."""
    with _running_lock:
        for group in _running:
            reaper.kill_group(group)


def placeholders(command: tuple[str, ...]) -> set[str]:
    """The words in braces. Other text in braces is left as it is, unless it is a name."""
    return {name for word in command for name in _PLACEHOLDER.findall(word)}


def filled(word: str, values: Mapping[str, Any]) -> str:
    """A word of the command with numbers for names; array entries are separated by commas."""

    def number(match: re.Match[str]) -> str:
        if match[1] not in values:
            return match[0]
        flat = np.ravel(np.asarray(values[match[1]], dtype=object))
        return ",".join(repr(entry) for entry in flat)

    return _BRACES.sub(number, word)


def _marks(folder: Path) -> str:
    """The folder, after those of the commands that this process is itself a part of."""
    return ":".join(filter(None, [os.environ.get(reaper.MARK), str(folder)]))


def _parsed(path: Path, form: str, event: tuple[int, ...]) -> Any:
    if form == "npy":
        return np.load(path, allow_pickle=False)
    if form == "json":
        value = json.loads(path.read_text())
        if isinstance(value, dict):
            return {name: np.asarray(entry, float) for name, entry in value.items()}
        return np.asarray(value, float)
    numbers = np.array([float(cell) for cell in re.split(r"[,;\s]+", path.read_text()) if cell])
    return numbers.reshape(event) if numbers.size == math.prod(event) else numbers


def _stderr_tail(folder: Path) -> str:
    try:
        text = (folder / "stderr").read_bytes()[-_TAIL:].decode(errors="replace").strip()
    except OSError:
        return ""
    return f": {text.splitlines()[-1]}\nStandard error ended with:\n{text}" if text else ""


_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_BRACES = re.compile(r"\{([^{}]+)\}")  # names of parameters may hold any characters but braces
_running: set[int] = set()
_running_lock = threading.Lock()
_reapers: dict[int, "subprocess.Popen[str]"] = {}


def _dismiss() -> None:
    """Stop the reaper of this process: there is nothing left to clean up."""
    helper = _reapers.pop(os.getpid(), None)
    if helper is not None and helper.stdin is not None:
        helper.stdin.close()
        helper.wait()


atexit.register(_dismiss)


def _tell(verb: str, folder: Path, *more: int) -> None:
    """Send a line to the reaper of this process, which starts with the first command."""
    line = "\t".join([verb, str(folder), *map(str, more)])
    with _running_lock:
        helper = _reapers.get(os.getpid())
        if helper is None or helper.poll() is not None:
            program = [sys.executable, "-I", "-S", reaper.__file__]
            helper = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
                cwd="/",  # it must outlive this process, even if that is itself a command
                env={name: value for name, value in os.environ.items() if name != reaper.MARK},
            )
            _reapers[os.getpid()] = helper
        print(line, file=helper.stdin, flush=True)
