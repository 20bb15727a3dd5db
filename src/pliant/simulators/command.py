"""Simulators that are programs: one run of a command makes one draw."""

import shlex
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
from jaxtyping import PyTree

from pliant.simulators.external import AbstractExternalSimulator, Setting
from pliant.simulators.process import FORMATS, CommandCall, end_all, placeholders


def _read_command(command: Sequence[str | Path]) -> tuple[str, ...]:
    words = [str(word) for word in command] if isinstance(command, list | tuple) else []
    if not words or not all(isinstance(word, str | Path) for word in command):
        raise TypeError(
            'command: expected a list of words such as ["./model", "--seed", "{seed}"], got '
            f"{command!r}."
        )
    program = shutil.which(words[0])
    if program is None:
        raise ValueError(f"command: cannot find an executable program {words[0]!r}.")
    rest = [str(Path(word).resolve()) if word and Path(word).exists() else word for word in words]
    return (str(Path(program).absolute()), *rest[1:])


def _names(structure: Any, single: str) -> set[str]:
    """The names of a dict's entries, or that of a single array."""
    return {*structure} if isinstance(structure, dict) else {single}


def _read_reader(read: Any) -> str | Callable[[Path], Any]:
    if callable(read):
        return read
    name = isinstance(read, str) and not Path(read).is_absolute() and Path(read).suffix[1:]
    if read in FORMATS or name in FORMATS:
        return read
    raise ValueError(
        'read: expected "json", "csv" or "npy" for standard output, the name of a file with such '
        f"an ending, or a function of the scratch folder, got {read!r}."
    )


class CommandSimulator(AbstractExternalSimulator):
    """An external program, such as ``["./model", "--beta", "{beta}", "--seed", "{seed}"]``.

    Each run starts without a shell in its own scratch folder, which is always removed. ``{name}``
    stands for a parameter (the entries of an array are separated by commas), ``{seed}`` for an
    integer of 31 bits that differs between draws. The entries of a condition stand there by their
    names too, and one without a name as ``{condition}``. The file ``parameters.json`` in the
    scratch folder contains all of them.

    A run fails if the program exits with a code other than zero, takes longer than ``timeout``, or
    writes output that cannot be read; the failure keeps the tail of its standard error.

    Args:
        command: The program and its arguments. Words that name existing files or
            folders are resolved relative to Python's current directory.
        read: Where the draw is: standard output as "json", "csv" or "npy", the name of a file
            with such an ending that the program writes, or a function of the scratch
            folder's path. Standard output is the file ``stdout`` there.
        timeout: Seconds after which the program is killed with all that it started; None for no
            limit. Outside of Linux, processes in a session of their own survive it.
        workers: How many run at a time; None for one.
        executor: Any ``concurrent.futures.Executor``, to run on other machines.
        on_failure: "count" counts and discards a draw that fails; "raise" raises.
        event: The shape of a draw; None for that of the observations.
        setting: Filled in by ``Problem``.
    """

    command: tuple[str, ...] = eqx.field(static=True, converter=_read_command)
    read: str | Callable[[Path], Any] = eqx.field(
        static=True, converter=_read_reader, default="json", kw_only=True
    )
    timeout: float | None = eqx.field(static=True, default=None, kw_only=True)
    workers: int | None = eqx.field(static=True, default=None, kw_only=True)
    executor: Executor | None = eqx.field(static=True, default=None, kw_only=True)
    on_failure: Literal["count", "raise"] = eqx.field(static=True, default="count", kw_only=True)
    event: tuple[int, ...] | None = eqx.field(static=True, default=None, kw_only=True)
    setting: Setting = eqx.field(default=Setting(), kw_only=True, repr=False)

    @property
    def whole_sets(self) -> bool:
        """A run makes one draw."""
        return False

    @property
    def label(self) -> str:
        """The words of the command."""
        return f"program {shlex.join(self.command)}"

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """As given, or that of the observations; the placeholders of the command are checked."""
        names = _names(theta, "theta")
        conditions = self.setting.conditions
        own: set[str] = set() if conditions is None else _names(conditions, "condition")
        for group, kind in ((names, "prior"), (own, "conditions")):
            if "seed" in group:
                raise ValueError(
                    f"{kind}['seed']: {{seed}} in a command stands for the random seed of a draw. "
                    "Choose another name."
                )
        if both := sorted(names & own):
            raise ValueError(
                f"conditions[{both[0]!r}]: a parameter has the same name, so {{{both[0]}}} in a "
                "command is ambiguous. Choose another name."
            )
        names |= {"seed", *own}
        unknown = sorted(placeholders(self.command) - names)
        if unknown:
            raise ValueError(
                f"command: {{{unknown[0]}}} is neither a parameter nor a condition; expected one "
                f"of {sorted(names)}."
            )
        return super().event_shape(theta)

    def call(self) -> CommandCall:
        """The command, and how its output is read."""
        assert self.event is not None
        return CommandCall(self.command, self.read, self.timeout, self.event, self.layout)

    def own_pool(self, workers: int) -> tuple[Callable[[], Executor], Callable[[], Any]]:
        """Threads, as the programs are processes of their own."""
        pool = ThreadPoolExecutor(workers)

        def abandon() -> None:
            end_all()
            pool.shutdown(wait=True, cancel_futures=True)

        return (lambda: pool), abandon
