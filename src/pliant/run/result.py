"""The result of a run, and how it is saved in a folder."""

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant._checks import check_path, check_seed
from pliant._files import read_json, write_json
from pliant.densities.particles import particle_density
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.methods.base import AbstractMethod
from pliant.methods.status import PliantWarning, Status
from pliant.problem.problem import Problem
from pliant.run import folder as layout
from pliant.run.failures import Failure
from pliant.run.figures import history_figure
from pliant.run.history import History, read_history
from pliant.run.ownership import check_saved
from pliant.run.posterior import NO_POSTERIOR, Posterior
from pliant.run.serialise import (
    build,
    by_name,
    check_names,
    decode,
    encode,
    read_value,
    reading,
    write_value,
)
from pliant.run.show import result_html, result_lines
from pliant.run.validate import check_density, check_fields, check_space
from pliant.weighting.final_check import USABLE, FinalCheck

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SAVED = {
    *("format", "status", "message", "check", "seed", "method", "observed_shape", "failures"),
    "reason",
}
_IN_POSTERIOR = ("posterior", "check", "likelihood")


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes:
        posterior: The posterior after the last good round; the prior if there is none.
        history: One row per round.
        status: How the run ended: one of ``pliant.Status``, such as "finished".
        message: What happened in this run, with what to do about it.
        method: The method with its options.
        seed: The seed of the run.
        observed_shape: The shape ``(N, *event)`` of the observations.
        failures: Each kind of failed draw: how many, and the first one.
        check: How well the posterior fits its target, if the method can tell. A learned
            likelihood can.
        reason: Why the method compares data as it does, if it chose that for the problem.
        likelihood: What the method has learned of the likelihood, which ``pliant.diagnose`` asks.
    """

    posterior: Posterior
    history: History
    status: Status
    message: str
    method: AbstractMethod
    seed: int
    observed_shape: tuple[int, ...]
    failures: tuple[Failure, ...] = ()
    check: FinalCheck | None = None
    reason: str = ""
    likelihood: AbstractLikelihood | None = None

    def __repr__(self) -> str:
        return "\n".join(["Result", *(f"  {line}" for line in result_lines(self))])

    def _repr_html_(self) -> str:
        return result_html(self)

    def plot(self, n: int = 10_000, **options: Any) -> "Figure":
        """The pair plot of the posterior, with the run's seed and the options of its ``plot``."""
        return self.posterior.plot(n, **{"seed": self.seed, **options})

    def plot_history(self) -> "Figure":
        """The numbers of the run by round, with the limits of its method."""
        return history_figure(self)

    def to_arviz(self, problem: Problem, n: int = 10_000, **options: Any) -> Any:
        """``Posterior.to_arviz`` with all groups, that of a learned likelihood included.

        It is known up to a constant of each observation: ``arviz.loo`` then tells influential
        observations, but its sum cannot be compared with that of another model.
        """
        given = {"log_likelihood": self.likelihood, "seed": self.seed, **options}
        return self.posterior.to_arviz(n, problem=problem, **given)

    def resampled(self) -> Posterior:
        """The posterior of the final check's weighted draws, closer to the target than the fit.

        Its samples are draws of the fitted posterior, resampled by their importance weights.

        Raises:
            ValueError: If there was no check, or if its weights cannot be trusted.
        """
        if self.check is None:
            raise ValueError(
                "There is no final check to resample from. Use a learned likelihood, such as "
                "pliant.LikelihoodKL()."
            )
        if self.check.k_hat > USABLE:
            raise ValueError(
                f"The importance weights cannot be trusted: k-hat is {self.check.k_hat:.2f}, and "
                f"should be {USABLE} at most. {self.check.message}"
            )
        return Posterior(
            self.posterior.space, particle_density(self.check.z, self.check.log_weights)
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the result into a folder, as JSON and arrays, for ``pliant.load``.

        Raises:
            FileExistsError: If the folder holds a result already and ``overwrite`` is not set, or
                a file that is not Pliant's has the name of one that would be written.
            TypeError: If the method or the posterior holds something that cannot be written.
            ValueError: If no round was finished, so that there is no posterior to write.
        """
        folder = check_path("folder", folder)
        if not self.history or self.posterior.is_prior:
            raise ValueError("No round was finished, so there is no posterior to save.")
        if layout.holds_result(folder) and not overwrite:
            raise FileExistsError(
                f"{folder} holds a result already. Choose another folder, or pass overwrite=True."
            )
        check_saved(folder)
        data = {
            "format": layout.FORMAT,
            "status": self.status,
            "message": self.message,
            "check": None if self.check is None else self.check.message,
            "seed": self.seed,
            "method": encode(self.method, "method"),
            "reason": self.reason,
            "observed_shape": self.observed_shape,
            "failures": [failure._asdict() for failure in self.failures],
        }
        for name in _IN_POSTERIOR:
            encode(getattr(self, name), name, {})  # raises before anything is replaced
        folder.mkdir(parents=True, exist_ok=True)
        (folder / layout.RESULT).unlink(missing_ok=True)  # written last: never half of two results
        write_value(
            folder / layout.POSTERIOR, {name: getattr(self, name) for name in _IN_POSTERIOR}
        )
        write_json(folder / layout.HISTORY, {"format": layout.FORMAT, "rounds": list(self.history)})
        write_json(folder / layout.RESULT, data)
        return folder


def warned(result: Result) -> Result:
    """The result of a run, after a ``PliantWarning`` to the caller of ``infer`` if it needs one."""
    status = result.status
    without = result.posterior.is_prior and status is not Status.INTERRUPTED
    if without or not (status.is_success or status.is_wanted):
        prior = f" {NO_POSTERIOR}" if result.posterior.is_prior else ""
        text = f"The run ended with the status {status}: {result.message}{prior}"
        warnings.warn(text, PliantWarning, stacklevel=_depth())
    elif status.is_success and result.check is not None and not result.check.is_usable:
        text = f"The run ended with the status {status}, but its check failed."
        warnings.warn(f"{text} {result.check.message}", PliantWarning, stacklevel=_depth())
    return result


def _depth() -> int:
    """How many calls above ``warned`` the code is that called Pliant."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pliant."):
        depth, frame = depth + 1, frame.f_back
    return depth


def load(folder: str | Path, *, classes: Iterable[type] = ()) -> Result:
    """Read a result that ``Result.save`` wrote. The files are data: no code in them can run.

    Args:
        folder: Where the result is.
        classes: Your own discrepancy, family or schedule classes, if the run used any.

    Raises:
        FileNotFoundError, ValueError: If the folder holds no result, or a file is damaged.
    """
    folder, own = check_path("folder", folder), by_name(classes)
    if not layout.holds_result(folder):
        hint = " Its run is not finished: use pliant.resume." if layout.holds_run(folder) else ""
        raise FileNotFoundError(
            f"{folder} holds no result (there is no {layout.RESULT} in it).{hint}"
        )
    path = folder / layout.RESULT
    data = read_json(path)
    layout.check_format(path, data)
    history = read_history(folder)
    parts = read_parts(folder / layout.POSTERIOR, own)
    with reading(path):
        check_names(data, _SAVED)
        fields = {name: data[name] for name in ("message", "seed", "reason")}
        check_seed("seed", fields["seed"])
        fields |= {
            **parts,
            "history": history,
            "status": Status(data["status"]),
            "method": decode(data["method"], own=own),
            "observed_shape": tuple(data["observed_shape"]),
            "failures": tuple(build(Failure, failure) for failure in data["failures"]),
        }
        check_fields(Result, fields)
        if data["check"] != (None if parts["check"] is None else parts["check"].message):
            raise ValueError(f"check: not that of {layout.POSTERIOR}.")
        return Result(**fields)


def read_parts(path: Path, own: dict[str, type]) -> dict[str, Any]:
    """The posterior, with the final check and the likelihood if there are any."""
    parts = read_value(path, own)
    with reading(path):
        check_names(parts, _IN_POSTERIOR)
        posterior, check = parts["posterior"], parts["check"]
        kinds = Posterior, FinalCheck | None, AbstractLikelihood | None
        if not all(map(isinstance, (parts[name] for name in _IN_POSTERIOR), kinds)):
            raise ValueError("expected a posterior.")
        check_space(posterior.space)
        check_density(posterior.density, posterior.space)
        if check is not None and check.z.shape[1] != posterior.space.dim:
            raise ValueError(f"check: expected draws of {posterior.space.dim} dimensions.")
        return {name: parts[name] for name in _IN_POSTERIOR}
