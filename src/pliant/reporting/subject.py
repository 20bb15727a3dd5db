"""What a report is about: a run that has ended, or one that goes on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pliant.methods.base import AbstractMethod
from pliant.methods.status import Status
from pliant.problem.problem import Problem
from pliant.problem.samples import named
from pliant.run.failures import Failure
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.result import Result

N_SAMPLES = 10_000
"""Draws that all tables come from."""


@dataclass(frozen=True)
class Known:
    """What is known of a run beside its files.

    Attributes:
        problem: The problem; None if nobody may execute its file.
        truth: The true parameters, by name.
        reference: Samples of the exact posterior, by name.
        config: What ``pliant run`` recorded.
    """

    problem: Problem | None = None
    truth: Mapping[str, Any] | None = None
    reference: Mapping[str, Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A run as its page shows it.

    Attributes:
        history: The rounds so far.
        method: The method with its options; None if it cannot be read.
        seed: The seed of the run.
        status: How the run ended; None while it goes on.
        message: What happened, with what to do about it.
        failures: Each kind of failed draw.
        check: The message of the method's own check.
        reason: Why the method compares data as it does.
        posterior: The posterior so far; None before the first round.
        samples: ``N_SAMPLES`` draws of it, by name.
        known: Problem, truth, reference and configuration.
        diagnosis: What ``Diagnosis.as_dict`` returned; None if there is none.
        folder: Where the run is, as text.
        alive: Whether a process works on a run that has not ended.
    """

    history: History
    method: AbstractMethod | None
    seed: int
    status: Status | None
    message: str
    failures: tuple[Failure, ...] = ()
    check: str | None = None
    reason: str = ""
    posterior: Posterior | None = None
    samples: Mapping[str, Any] | None = None
    known: Known = Known()
    diagnosis: Mapping[str, Any] | None = None
    folder: str = ""
    alive: bool = False

    @property
    def is_running(self) -> bool:
        """Whether the run goes on, or was killed: it has not ended by itself."""
        return self.status is None

    @property
    def has_posterior(self) -> bool:
        """Whether a round gave a posterior."""
        return self.posterior is not None and not self.posterior.is_prior


def subject_of(
    result: Result,
    known: Known,
    *,
    diagnosis: Mapping[str, Any] | None = None,
    samples: Mapping[str, Any] | None = None,
    folder: str = "",
) -> Subject:
    """A result that a run has ended with.

    Args:
        result: What ``infer`` or ``load`` returned.
        known: Problem, truth, reference and configuration.
        diagnosis: What ``Diagnosis.as_dict`` returned.
        samples: The draws that the run's folder holds; by default they are drawn with its seed.
        folder: Where the run is.
    """
    drawn = result.posterior.sample(N_SAMPLES, seed=result.seed) if samples is None else samples
    return Subject(
        history=result.history,
        method=result.method,
        seed=result.seed,
        status=result.status,
        message=result.message,
        failures=result.failures,
        check=None if result.check is None else result.check.message,
        reason=result.reason,
        posterior=result.posterior,
        samples=named(drawn),
        known=known,
        diagnosis=diagnosis,
        folder=folder,
    )
