"""Which single observations the model does not explain, and how much each moves the posterior."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from pliant._importance import normalise
from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level
from pliant.diagnosis.p_values import LIMIT, adjusted, tail_probabilities
from pliant.diagnosis.similarity import similarities

_STRONG = 1.0  # standard deviations by which one observation may move a mean
_SHOWN = 5


@dataclass(frozen=True)
class ObservationTable:
    """One row per observation, the least likely first."""

    index: Int[np.ndarray, " N"]
    """Which observation, counted from zero."""
    p_value: Float[np.ndarray, " N"]
    """How likely the posterior is to simulate one that is at least as unlikely."""
    adjusted: Float[np.ndarray, " N"]
    """The same for all observations at once (Holm)."""
    influence: Float[np.ndarray, " N"]
    """By how many standard deviations the mean of a parameter moves without the observation, for
    the parameter that moves most; NaN if nothing was learned."""
    moved: Float[np.ndarray, "N columns"]
    """The same, signed, for each parameter."""

    @property
    def accused(self) -> Int[np.ndarray, " A"]:
        """Observations that the model does not explain."""
        return self.index[self.adjusted < LIMIT]


def check_observations(evidence: Evidence) -> tuple[ObservationTable, list[Finding]]:
    """The table, and a finding."""
    p = _p_values(evidence)
    moved = _influences(evidence)
    influence = np.max(np.abs(moved), axis=1)
    order = np.argsort(p, kind="stable")
    table = ObservationTable(order, p[order], adjusted(p)[order], influence[order], moved[order])
    return table, [_finding(evidence, table)]


def _finding(evidence: Evidence, table: ObservationTable) -> Finding:
    accused = table.accused
    least = float(table.adjusted[0])
    numbers = least, LIMIT
    if not len(accused):
        text = "Every single observation is one that the posterior could have produced."
        strong = table.index[table.influence > _STRONG]
        if len(strong) and evidence.problem.n_obs > 1:
            text += (
                f" Without observation {strong[0]}, a mean moves by "
                f"{np.nanmax(table.influence):.2g} standard deviations."
            )
            return Finding("observations", Level.NOTE, text, "", *numbers)
        return Finding("observations", Level.OK, text, "", *numbers)
    first = ", ".join(map(str, accused[:_SHOWN]))
    more = f" and {len(accused) - _SHOWN} more" if len(accused) > _SHOWN else ""
    of = f"{len(accused)} of {evidence.problem.n_obs:,} observations"
    text = f"The model does not explain {of}: {first}{more} (p = {table.p_value[0]:.1g})."
    moved = table.influence[: len(accused)]
    if np.any(np.isfinite(moved)):
        text += f" Without one of them, a mean moves by up to {np.nanmax(moved):.2g} deviations."
    remedy = (
        "Look at these observations. diagnosis.without([...]) shows the posterior without them. "
        'pliant.PLI(discrepancy=pliant.MMD(), beta="calibrated") is moved less by them.'
    )
    return Finding("observations", Level.DOUBTFUL, text, remedy, *numbers)


def _p_values(evidence: Evidence) -> Float[np.ndarray, " N"]:
    """How unlikely each observation is, averaged over the posterior.

    Its loss at a parameter is compared with those of draws which the parameter simulates: of all
    draws, or of those under its own condition where observations differ by design. Without a
    learned likelihood, its similarity to simulated draws takes the likelihood's place.
    """
    if evidence.log_own is None or evidence.log_observed is None:
        own, observed = similarities(evidence)
    else:
        own, observed = -evidence.log_own, -evidence.log_observed[: evidence.n_sets]
    if evidence.problem.is_uniform:
        known = own[np.isfinite(own)]
        return tail_probabilities(known, observed).mean(axis=0)
    p = np.ones(own.shape[1])
    centred = _standardised(own)
    for i in range(own.shape[1]):
        kept = np.isfinite(own[:, i])
        scale = _location_and_scale(own[kept, i])
        value = (observed[:, i] - scale[0]) / scale[1]
        p[i] = tail_probabilities(centred, value).mean()
    return p


def _standardised(own: Float[np.ndarray, "R N"]) -> Float[np.ndarray, " n"]:
    """The losses of all conditions, each condition's at a common location and scale."""
    columns = []
    for column in own.T:
        known = column[np.isfinite(column)]
        middle, scale = _location_and_scale(known)
        columns.append((known - middle) / scale)
    return np.concatenate(columns)


def _location_and_scale(x: Float[np.ndarray, " n"]) -> tuple[float, float]:
    if not len(x):
        return 0.0, 1.0
    spread = float(x.std())
    return float(x.mean()), spread if spread > 0 else 1.0


def _influences(evidence: Evidence) -> Float[np.ndarray, "N columns"]:
    """By how many deviations each mean moves if an observation is left out, by reweighting."""
    log_w = evidence.log_weights
    n_obs, columns = evidence.problem.n_obs, evidence.theta.shape[1]
    if log_w is None or evidence.log_observed is None or evidence.likelihood is None:
        return np.full((n_obs, columns), np.nan)
    base, _ = evidence.weighted(log_w)
    mean = base @ evidence.theta
    spread = np.sqrt(base @ (evidence.theta - mean) ** 2)
    spread = np.where(spread > 0, spread, 1.0)
    power, moved = evidence.likelihood.power, np.zeros((n_obs, columns))
    with np.errstate(divide="ignore"):
        log_base = np.log(base)
    for i in range(n_obs):
        change = -power * evidence.log_observed[:, i].astype(np.float64)
        ceiling = np.log(len(change)) / 2 + np.median(change)  # truncated: few draws would decide
        weights = normalise(log_base + np.minimum(change, ceiling + 2.0))
        moved[i] = (weights @ evidence.theta - mean) / spread
    return moved
