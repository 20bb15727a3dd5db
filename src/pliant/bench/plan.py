"""A grid and its runs: what is inferred, with which method, and under which name."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.methods.base import AbstractMethod

_DIGITS = 6
_LONGEST = 40  # characters of a table or a list in a name


@dataclass(frozen=True)
class Run:
    """One inference of a grid: the settings that name it, and the method they describe."""

    experiment: str
    task: str
    method: str
    """The method's label in the grid."""
    n_obs: int
    seed: int
    """Of the observations and of the inference."""
    varied: Mapping[str, Any]
    """The options that the experiment varies; ``options`` holds them too."""
    options: Mapping[str, Any]
    """The method's options, as JSON data."""
    samples: int
    """Posterior samples to draw for the metrics."""
    classify: bool
    """Whether to compute C2ST."""
    snapshots: int
    """Posterior samples to keep per round."""
    built_method: AbstractMethod = dataclasses.field(repr=False, compare=False)
    """What ``options`` describe, ready to use in any process."""

    @property
    def settings(self) -> dict[str, Any]:
        """All fields but the method itself, as JSON data."""
        fields = (field.name for field in dataclasses.fields(self))
        return {name: getattr(self, name) for name in fields if name != "built_method"}

    @property
    def name(self) -> str:
        """The settings in words, and a digest of all of them: other settings are another run."""
        text = json.dumps(self.settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
        words = [self.experiment, self.task, self.method, f"n{self.n_obs}", f"seed{self.seed}"]
        words += [f"{key}{_word(value)}" for key, value in self.varied.items()]
        return "-".join([*words, digest])


def _word(value: Any) -> str:
    """A value of an option for a file's name; the digest tells long ones apart."""
    if isinstance(value, dict):
        parts = [f"{key}{_word(entry)}" for key, entry in value.items()]
    elif isinstance(value, list | tuple):
        parts = [_word(entry) for entry in value]
    else:
        return str(value)
    return "_".join(parts)[:_LONGEST]


@dataclass(frozen=True)
class Grid:
    """The runs of a grid file."""

    name: str
    text: str
    """The file's content, which is kept beside the runs."""
    runs: tuple[Run, ...]
