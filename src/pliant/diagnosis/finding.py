"""What a check says, and the verdict that follows from all checks."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing, and no reason to doubt the posterior."""
    DOUBTFUL = "doubtful"
    UNSOUND = "unsound"
    SKIPPED = "skipped"
    """The check does not apply."""


class Verdict(StrEnum):
    """Whether a posterior can be trusted. A verdict equals its text."""

    SOUND = "sound"
    DOUBTFUL = "doubtful"
    UNSOUND = "unsound"

    @property
    def meaning(self) -> str:
        """The verdict in a sentence."""
        return {
            Verdict.SOUND: "No check found a reason to doubt this posterior.",
            Verdict.DOUBTFUL: "Some checks found reasons to doubt this posterior.",
            Verdict.UNSOUND: "This posterior should not be used as it is.",
        }[self]


class Finding(NamedTuple):
    """The outcome of a check."""

    check: str
    """The name of the check, such as "fit"."""
    level: Level
    text: str
    """What was found."""
    remedy: str = ""
    """What to do about it; empty if there is nothing to do."""
    number: float | None = None
    """The number that decided."""
    limit: float | None = None
    """What the number was compared with."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self._asdict(), "level": str(self.level)}


def skipped(check: str, why: str, remedy: str = "") -> Finding:
    """The finding of a check that does not apply."""
    return Finding(check, Level.SKIPPED, why, remedy)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The verdict of the worst finding."""
    levels = {finding.level for finding in findings}
    if Level.UNSOUND in levels:
        return Verdict.UNSOUND
    return Verdict.DOUBTFUL if Level.DOUBTFUL in levels else Verdict.SOUND
