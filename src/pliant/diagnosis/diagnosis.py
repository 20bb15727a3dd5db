"""The diagnosis of a posterior: a verdict, what each check found, and corrected posteriors."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from pliant._importance import smooth_weights
from pliant.densities.affine import AffineDensity
from pliant.densities.modes import find_modes
from pliant.densities.particles import particle_density
from pliant.diagnosis.calibration import LEVELS, Calibration
from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level, Verdict, verdict_of
from pliant.diagnosis.observations import ObservationTable
from pliant.diagnosis.predictive import Predictive
from pliant.run.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_USABLE = 0.7  # of k-hat
_WIDE = 100  # characters of a line
_SIGNS = {
    Level.OK: "ok",
    Level.NOTE: "note",
    Level.DOUBTFUL: "DOUBTFUL",
    Level.UNSOUND: "UNSOUND",
    Level.SKIPPED: "skipped",
}


@dataclass(frozen=True)
class Diagnosis:
    """What ``pliant.diagnose`` found.

    Attributes:
        findings: One or more per check, in the order in which they are read.
        observations: One row per observation, the least likely first; None if there is no
            posterior.
        calibration: Ranks of simulation-based calibration; None if there are none.
        predictive: Statistics of the observed set beside those of simulated ones.
    """

    findings: tuple[Finding, ...]
    observations: ObservationTable | None = None
    calibration: Calibration | None = None
    predictive: Predictive | None = None
    evidence: Evidence | None = field(default=None, repr=False)
    moved: Calibration | None = field(default=None, repr=False)
    """The calibration of the unconstrained parameters, by which ``recalibrated`` corrects."""

    @property
    def verdict(self) -> Verdict:
        """``"sound"``, ``"doubtful"`` or ``"unsound"``."""
        return verdict_of(self.findings)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.verdict.meaning}", ""]
        width = max(len(finding.check) for finding in self.findings)
        for finding in self.findings:
            head = f"{_SIGNS[finding.level]:>8}  {finding.check:<{width}}  "
            lines += _wrapped(head, finding.text)
            if finding.remedy and finding.level not in (Level.OK, Level.SKIPPED):
                lines += _wrapped(" " * len(head), f"-> {finding.remedy}")
        return "\n".join(lines)

    def without(self, observations: Sequence[int] | np.ndarray) -> Posterior:
        """The posterior without some observations, by weighting draws: nothing is run again.

        Args:
            observations: Which ones, counted from zero, such as ``diagnosis.observations.accused``.

        Raises:
            ValueError: If there are no such observations, nothing was learned, or the posterior
                would become so different that its draws cannot tell.
        """
        evidence = self._evidence()
        log_w, likelihood = evidence.log_weights, evidence.likelihood
        if log_w is None or likelihood is None or evidence.log_observed is None:
            raise ValueError(
                "without: the method has learned no likelihood, by which draws could be weighted. "
                "Run again without these observations."
            )
        index = np.unique(np.asarray(observations, dtype=int))
        n_obs = evidence.problem.n_obs
        if not len(index) or index.min() < 0 or index.max() >= n_obs or len(index) == n_obs:
            raise ValueError(
                f"observations: expected some numbers from 0 to {n_obs - 1}, but not all of them, "
                f"got {observations!r}."
            )
        left_out = evidence.log_observed[:, index].sum(axis=1, dtype=np.float64)
        smoothed, k_hat = smooth_weights(log_w - likelihood.power * left_out)
        if k_hat > _USABLE:
            raise ValueError(
                f"without: the posterior changes too much for its draws to be weighted (k-hat "
                f"{k_hat:.2f}, {_USABLE} at most). Run again without these observations."
            )
        return Posterior(evidence.posterior.space, particle_density(evidence.z, smoothed))

    def recalibrated(self) -> Posterior:
        """The posterior, moved and stretched as its calibration asks for.

        Raises:
            ValueError: If there is no calibration, or the posterior has several modes, of which
                each would need a correction of its own.
        """
        evidence, found = self._evidence(), self.moved
        if found is None:
            raise ValueError("recalibrated: there is no calibration to correct the posterior by.")
        if find_modes(evidence.z[:1000]).max() > 0:
            raise ValueError(
                "recalibrated: the posterior has several modes. Use more rounds instead."
            )
        density = AffineDensity(
            base=evidence.posterior.density,
            centre=jnp.asarray(evidence.z.mean(axis=0), float),
            shift=jnp.asarray(found.shift * evidence.z.std(axis=0), float),
            stretch=jnp.asarray(found.width, float),
        )
        return Posterior(evidence.posterior.space, density)

    def plot(self) -> "Figure":
        """Ranks, coverage, unexplained observations and predictive intervals."""
        from pliant.diagnosis.figures import diagnosis_figure

        return diagnosis_figure(self)

    def as_dict(self) -> dict[str, Any]:
        """Verdict, findings and tables, for JSON."""
        data: dict[str, Any] = {
            "verdict": str(self.verdict),
            "findings": [finding.as_dict() for finding in self.findings],
            "observations": None,
            "calibration": None,
            "predictive": None,
        }
        if self.observations is not None and self.evidence is not None:
            columns = {name: list(map(float, v)) for name, v in _columns(self.observations).items()}
            columns["index"] = list(map(int, self.observations.index))
            moved = {n: self.observations.moved[:, j] for j, n in enumerate(self.evidence.names)}
            data["observations"] = {**columns, "moved": _numbers(moved)}
        if self.calibration is not None:
            found = self.calibration
            data["calibration"] = {
                "names": list(found.names),
                "levels": list(LEVELS),
                **_numbers({"shift": found.shift, "width": found.width, "ranks": found.ranks}),
                "coverage": found.coverage().tolist(),
            }
        if self.predictive is not None:
            found = self.predictive._asdict()
            names = {name: list(found.pop(name)) for name in ("names", "features")}
            p_value = found.pop("p_value")
            data["predictive"] = {**names, "p_value": p_value, **_numbers(found)}
        return _without_nan(data)

    def _evidence(self) -> Evidence:
        if self.evidence is None:
            raise ValueError("The run gave no posterior.")
        return self.evidence


def _columns(table: ObservationTable) -> dict[str, np.ndarray]:
    return {name: getattr(table, name) for name in ("p_value", "adjusted", "influence")}


def _numbers(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(array, float).tolist() for name, array in arrays.items()}


def _without_nan(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {name: _without_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDE, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )
