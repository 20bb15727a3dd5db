"""How a run can end: the table of every status with its message and its remedy."""

from enum import StrEnum

_KEPT = "The posterior of the last round is kept."
_BEFORE = "The posterior before the last round is kept."
_RAISE = f"Raise it in `pliant.resume`. {_KEPT}"


class PliantWarning(UserWarning):
    """A run ended without success: see ``Status``.

    ``warnings.simplefilter("error", pliant.PliantWarning)`` makes such a run raise.
    """


class Status(StrEnum):
    """How a run ended. A status equals its text: ``result.status == "finished"``.

    ``finished``, ``converged`` and ``reached_tolerance`` are successes. After any other end but
    Ctrl-C and a callback's, ``infer`` and ``resume`` emit a ``PliantWarning``. ``failed``,
    ``diverged`` and ``storage_failed`` are errors: ``pliant run`` exits with 1. The others leave a
    posterior that is as good as the budget, the noise or the acceptance allows.

    Attributes:
        message: What happened.
        remedy: What to do about it.
        is_error: Whether something went wrong.
    """

    message: str
    remedy: str
    is_error: bool

    @property
    def is_success(self) -> bool:
        """Whether the run got where it should."""
        return self in (Status.FINISHED, Status.CONVERGED, Status.REACHED_TOLERANCE)

    @property
    def is_wanted(self) -> bool:
        """Whether the user ended the run."""
        return self in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK)

    def __new__(cls, value: str, message: str, remedy: str, is_error: bool = False) -> "Status":
        """A string with attributes."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message, member.remedy, member.is_error = message, remedy, is_error
        return member

    FINISHED = (
        "finished",
        "All rounds were made. The target was reached or, without one, the last rounds changed "
        "little.",
        "Nothing.",
    )
    CONVERGED = "converged", "A round at the target changed no mean and no width.", "Nothing."
    CUT_SHORT = (
        "cut_short",
        "All rounds were made, but the target was not reached or, without one, the last rounds "
        "still changed the posterior.",
        f"Use more `rounds`, or do what `result.message` says. {_KEPT} It is most often too wide.",
    )
    REACHED_TOLERANCE = "reached_tolerance", "The bandwidth is down to `tolerance`.", "Nothing."
    NOISE_LIMITED = (
        "noise_limited",
        "In two consecutive rounds, noise exceeded `noise_limit`.",
        f"Use more draws (`n_draws`) or a larger `beta`. {_BEFORE}",
    )
    LOW_ACCEPTANCE = (
        "low_acceptance",
        "Fewer proposals than `min_acceptance` were accepted.",
        f"Use `MHABC` with more `max_tries`, or a lower `min_acceptance`. {_KEPT}",
    )
    OUT_OF_SIMULATIONS = "out_of_simulations", "`max_simulations` allows no other round.", _RAISE
    OUT_OF_TIME = "out_of_time", "The run took longer than `max_seconds`.", _RAISE
    STOPPED_BY_CALLBACK = "stopped_by_callback", "The callback returned True.", _KEPT
    INTERRUPTED = "interrupted", "Ctrl-C ended the run.", f"Use `pliant.resume`. {_KEPT}"
    FAILED = (
        "failed",
        "Too few simulations were usable, or none came within `tolerance`.",
        "Fix the simulator where `result.message` says that it fails, or narrow the prior.",
        True,
    )
    DIVERGED = (
        "diverged",
        "A fit gave numbers that are not finite.",
        f"Use a lower learning rate, or `family=pliant.Gaussian()`. {_BEFORE}",
        True,
    )
    STORAGE_FAILED = (
        "storage_failed",
        "A file could not be written, for example because the disk is full.",
        "Free some space, then continue with `pliant.resume`.",
        True,
    )
