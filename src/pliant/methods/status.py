"""How a run can end: every status with its message and its remedy."""

from enum import StrEnum


class Status(StrEnum):
    """How a run ended. Each status equals its name: ``result.status == "finished"``.

    Attributes:
        message: What happened.
        remedy: What to do about it.
        is_error: Whether something went wrong that the run could not recover from.
    """

    message: str
    remedy: str
    is_error: bool

    FINISHED = (
        "finished",
        "All rounds were made.",
        "If `eta` still falls in the last rows of the history, add `rounds`.",
    )
    CONVERGED = (
        "converged",
        "Two consecutive rounds of a learned likelihood left every mean and width in place.",
        "Nothing.",
    )
    NOISE_LIMITED = (
        "noise_limited",
        "In two consecutive rounds, noise exceeded `noise_limit` of the distances' variance.",
        "Use more draws (`n_draws`) or a larger `beta`. The posterior before the last round is "
        "kept, and is often good.",
    )
    LOW_ACCEPTANCE = (
        "low_acceptance",
        "An ABC sampler accepted less than `min_acceptance` of its proposals.",
        "Use `MHABC` with more `max_tries`, or a lower `min_acceptance`. The posterior of the "
        "last round is kept.",
    )
    REACHED_TOLERANCE = (
        "reached_tolerance",
        "An ABC sampler lowered its bandwidth to `tolerance`.",
        "Nothing.",
    )
    FAILED = (
        "failed",
        "Too few simulations were usable, or `RejectionABC` found none within `tolerance`.",
        "The message says which draws failed, and where in parameter space. Fix the simulator "
        "there, or narrow the prior.",
        True,
    )
    DIVERGED = (
        "diverged",
        "A fit gave numbers that are not finite.",
        "Use a lower learning rate, or `family=pliant.Gaussian()`. The posterior before the last "
        "round is kept.",
        True,
    )
    STORAGE_FAILED = (
        "storage_failed",
        "A file of the run could not be written, for example because the disk is full.",
        "Free some space, then continue with `pliant.resume`.",
        True,
    )
    INTERRUPTED = (
        "interrupted",
        "Ctrl-C ended the run.",
        "Continue with `pliant.resume` if the run has a folder. The posterior of the last round "
        "is kept.",
    )
    OUT_OF_SIMULATIONS = (
        "out_of_simulations",
        "Another round would exceed `max_simulations`.",
        "Raise `max_simulations` in `pliant.resume`. The posterior of the last round is kept.",
    )
    OUT_OF_TIME = (
        "out_of_time",
        "The run took longer than `max_seconds`.",
        "Raise `max_seconds` in `pliant.resume`. The posterior of the last round is kept.",
    )
    STOPPED_BY_CALLBACK = (
        "stopped_by_callback",
        "The callback returned True.",
        "Nothing. The posterior of the last round is kept.",
    )

    def __new__(cls, value: str, message: str, remedy: str, is_error: bool = False) -> "Status":
        """A member whose value is its name in lower case."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message, member.remedy, member.is_error = message, remedy, is_error
        return member
