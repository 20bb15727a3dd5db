"""One run of a grid: what it infers, from what, and how."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.methods.base import AbstractMethod

_DIGITS = 6


@dataclass(frozen=True)
class Run:
    """All that a run depends on, as JSON data."""

    experiment: str
    task: str
    method: str
    """The label in the grid; ``options["method"]`` says which method it is."""
    n_obs: int
    seed: int
    """Of the observations and of the run."""
    varied: Mapping[str, Any]
    """The options that the experiment varies, which are in ``options`` too."""
    options: Mapping[str, Any]
    samples: int
    """Of the posterior, for its metrics."""
    classify: bool
    """Whether C2ST is one of them."""
    snapshots: int
    """Samples that are kept of every round."""

    @property
    def settings(self) -> dict[str, Any]:
        """The run as JSON data."""
        return dataclasses.asdict(self)

    @property
    def name(self) -> str:
        """What it is, in words, and a digest of everything: other settings are another run."""
        text = json.dumps(self.settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
        words = [self.experiment, self.task, self.method, f"n{self.n_obs}", f"seed{self.seed}"]
        words += [f"{key}{value}" for key, value in self.varied.items()]
        return "-".join([*words, digest])


def build(run: Run) -> "AbstractMethod":
    """The run's method with its options.

    Raises:
        TypeError, ValueError, UserError: If an option is out of range.
    """
    from pliant.cli.choices import build_method
    from pliant.weighting.partition import PartitionFunction

    choices: dict[str, Any] = {"discrepancy": None, "family": None, "epsilon": None}
    choices |= {
        key: value for key, value in run.options.items() if key not in ("method", "partition")
    }
    method: Any = build_method(run.options["method"], run.n_obs, **choices)
    if sets := run.options.get("partition"):
        method = dataclasses.replace(method, partition=PartitionFunction(n_sets=sets))
    return method
