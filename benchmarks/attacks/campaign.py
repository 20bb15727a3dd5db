"""What an attack is, what can come of it, and the table of a campaign."""

import contextlib
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from typer.testing import CliRunner

from attacks.children import Children

KINDS = ("results lost", "silent differences", "tracebacks", "commands run", "orphans")
LOST, DIFFERENCE, TRACEBACK, COMMAND, ORPHAN = KINDS
REFUSALS = (ValueError, TypeError, OSError)
LONGEST = 1500  # characters of a message


class Fault(Exception):  # noqa: N818  what was found, not an error of the campaign
    """What an attack found, of one of the kinds."""

    def __init__(self, kind: str, text: str):
        super().__init__(kind, text)
        self.kind, self.text = kind, text


@dataclass(frozen=True)
class Attack:
    """An attack is expected to be refused or survived; ``act`` raises what went wrong.

    Args:
        group: The class of the attack, a row of the table.
        name: What is attacked, and how.
        act: Called with the arena. It returns how many attacks it made, or None for one.
        slow: Whether the short campaign leaves it out.
    """

    group: str
    name: str
    act: Callable[["Arena"], int | None]
    slow: bool = False


@dataclass
class Arena:
    """Where an attack takes place: a new folder, and what all attacks share.

    Args:
        root: The folder of the campaign.
        children: Processes that can be killed.
        seed: Random attacks follow from it.
        short: Whether this is the short campaign.
    """

    root: Path
    children: Children
    seed: int
    short: bool
    number: int = 0

    @property
    def folder(self) -> Path:
        """The folder of the present attack."""
        return self.root / "attacks" / f"{self.number:04d}"

    @property
    def canary(self) -> Path:
        """Code in forged files would create this file."""
        return self.root / "canary"

    @property
    def scratch(self) -> Path:
        """The folder for temporary files of all processes."""
        return self.root / "scratch"

    @property
    def runs(self) -> Path:
        """Finished and unfinished runs, to be copied."""
        return self.root / "runs"

    def copy(self, name: str) -> Path:
        """A copy of one of the runs."""
        return shutil.copytree(self.runs / name, self.folder / name)


@dataclass
class Campaign:
    """Makes attacks and counts what they find.

    Args:
        arena: Where they take place.
    """

    arena: Arena
    attacks: Counter = field(default_factory=Counter)
    found: dict[str, Counter] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def perform(self, attack: Attack) -> None:
        """Make one attack in a new folder, and look at what it left."""
        self.arena.number += 1
        self.arena.folder.mkdir(parents=True)
        self.found.setdefault(attack.group, Counter())
        count = None
        try:
            count = attack.act(self.arena)
        except Fault as fault:
            self._note(attack, fault)
        except Exception as error:
            text = f"{type(error).__name__}: {error} {traceback.format_exc(limit=-2)}"
            self._note(attack, Fault(TRACEBACK, text))
        for left in left_overs(self.arena):
            self._note(attack, left)
        self.attacks[attack.group] += 1 if count is None else count
        shutil.rmtree(self.arena.folder)

    def _note(self, attack: Attack, fault: Fault) -> None:
        self.found[attack.group][fault.kind] += 1
        text = f"{attack.group}, {attack.name}: {fault.kind}: {fault.text}"
        self.faults.append(text)
        print(" ".join(text.split())[:600], file=sys.stderr, flush=True)

    def table(self) -> str:
        """One row for each class of attacks, and their sums."""
        lines = [f"| class | attacks | {' | '.join(KINDS)} |", "|---|---|" + "---|" * len(KINDS)]
        for group, number in self.attacks.items():
            counts = [str(self.found[group][kind]) for kind in KINDS]
            lines.append(f"| {group} | {number:,} | {' | '.join(counts)} |")
        sums = [str(sum(found[kind] for found in self.found.values())) for kind in KINDS]
        lines.append(f"| all | {self.attacks.total():,} | {' | '.join(sums)} |")
        return "\n".join(lines)


def left_overs(arena: Arena) -> list[Fault]:
    """The canary, processes and temporary files that an attack left behind."""
    found = []
    if arena.canary.exists():
        arena.canary.unlink()
        found.append(Fault(COMMAND, "the canary exists"))
    alive = [child for child in psutil.Process().children() if not arena.children.owns(child)]
    alive = [child for child in alive if "resource_tracker" not in _words(child)]  # as long as we
    _, alive = psutil.wait_procs(alive, timeout=5)
    found += [Fault(ORPHAN, f"a process is left: {_words(process)}") for process in alive]
    for path in arena.scratch.glob("pliant-*"):
        found.append(Fault(ORPHAN, f"{path.name} is left"))
        shutil.rmtree(path, ignore_errors=True)
    return found


def _words(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return str(process.pid)


# ---- what is expected ----


def expect(condition: object, kind: str, text: str) -> None:
    """Raise a fault unless the condition holds."""
    if not condition:
        raise Fault(kind, text)


def refused(call: Callable[[], object], naming: object = "") -> None:
    """Expect an error of one line that names something, and no other error."""
    try:
        value = call()
    except REFUSALS as error:
        _check_message(str(error), naming)
    else:
        raise Fault(DIFFERENCE, f"accepted: {str(value)[:200]}")


def command(*words: object):
    """Run ``pliant`` in this process."""
    from pliant.cli import app

    return CliRunner().invoke(app, [str(word) for word in words], prog_name="pliant")


def refused_command(*words: object, naming: object = "") -> None:
    """Expect one line on standard error, and exit code 1 or 2."""
    outcome = command(*words)
    if not isinstance(outcome.exception, SystemExit):
        expect(outcome.exception is None, TRACEBACK, f"{words}: {outcome.exception!r}")
        raise Fault(DIFFERENCE, f"{words}: accepted")
    expect(outcome.exit_code in (1, 2), DIFFERENCE, f"{words}: exit code {outcome.exit_code}")
    _check_message(outcome.stderr.removesuffix("\n"), naming)


def _check_message(text: str, naming: object) -> None:
    expect("\n" not in text and len(text) < LONGEST, TRACEBACK, f"not one line: {text}")
    expect(str(naming) in text, DIFFERENCE, f"{naming} is not named: {text}")
