"""What the data determine, what the prior does, and how much the posterior depends on each."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level
from pliant.problem.samples import as_table
from pliant.problem.space import Space, constrain_all

_DRAWS = 4000  # of the prior
_UNDETERMINED = 0.1  # contraction below which the data tell nearly nothing
_EDGE = 0.005  # outermost share of the prior on one side
_PILED = 0.1  # share of the posterior there that is too much
_POWER = 1.25  # of the prior or the likelihood
_SENSITIVE = 0.3  # standard deviations that a mean may move


def check_determination(key: Key[Array, ""], evidence: Evidence) -> list[Finding]:
    """Notes on contraction, on the edges of the prior, and on power-scaling."""
    space = evidence.problem.prior.space
    z = evidence.problem.prior.sample(key, _DRAWS)
    _, prior = as_table(constrain_all(space, z), space.names)
    return [
        _contraction(evidence, prior),
        _edges(evidence, prior),
        _sensitivity(evidence),
    ]


def contractions(
    prior: Float[np.ndarray, "n columns"], posterior: Float[np.ndarray, "K columns"]
) -> Float[np.ndarray, " columns"]:
    """``1 - (width / prior's width)^2`` of each parameter, by quartiles: 1 is known exactly."""
    widths = [np.subtract(*np.quantile(x, [0.75, 0.25], axis=0)) for x in (posterior, prior)]
    return 1 - (widths[0] / np.maximum(widths[1], 1e-300)) ** 2


def _contraction(evidence: Evidence, prior: Float[np.ndarray, "n columns"]) -> Finding:
    found = contractions(prior, evidence.theta)
    least = int(np.argmin(found))
    numbers = float(found[least]), _UNDETERMINED
    open_ones = [name for name, c in zip(evidence.names, found, strict=True) if c < _UNDETERMINED]
    if not open_ones:
        text = (
            f"The data determine every parameter: contraction from the prior is {found[least]:.0%} "
            f"or more ({evidence.names[least]} least)."
        )
        return Finding("contraction", Level.OK, text, "", *numbers)
    text = f"The data tell nearly nothing about {', '.join(open_ones)}: it is as the prior has it."
    remedy = "Measure something that depends on it, or fix it."
    return Finding("contraction", Level.NOTE, text, remedy, *numbers)


def _edges(evidence: Evidence, prior: Float[np.ndarray, "n columns"]) -> Finding:
    low, high = np.quantile(prior, [_EDGE, 1 - _EDGE], axis=0)
    shares = np.stack([evidence.theta < low, evidence.theta > high]).mean(axis=1)
    worst = int(np.argmax(shares.max(axis=0)))
    share = float(shares[:, worst].max())
    numbers = share, _PILED
    if share <= _PILED:
        text = "The posterior is within the prior's range."
        return Finding("prior's edge", Level.OK, text, "", *numbers)
    side = "lower" if shares[0, worst] >= shares[1, worst] else "upper"
    text = (
        f"{share:.0%} of the posterior of {evidence.names[worst]} is in the outermost "
        f"{_EDGE:.1%} of the prior, at its {side} end."
    )
    remedy = "Check the prior and the units: values beyond it may explain the data better."
    return Finding("prior's edge", Level.NOTE, text, remedy, *numbers)


def _sensitivity(evidence: Evidence) -> Finding:
    """By how much a mean moves if the prior is raised to the power 1.25 (power-scaling)."""
    log_w = evidence.log_weights
    space = evidence.problem.prior.space
    jacobian = np.asarray(_log_dets(space, jnp.asarray(evidence.z, float)), np.float64)
    log_prior = evidence.log_prior - jacobian  # in the user's units
    base = np.zeros(len(log_prior)) if log_w is None else log_w
    weights, _ = evidence.weighted(base)
    mean = weights @ evidence.theta
    spread = np.sqrt(np.maximum(weights @ (evidence.theta - mean) ** 2, 1e-300))
    scaled, k_hat = evidence.weighted(base + (_POWER - 1) * log_prior)
    moved = np.abs(scaled @ evidence.theta - mean) / spread
    worst = int(np.argmax(moved))
    numbers = float(moved[worst]), _SENSITIVE
    what = f"{evidence.names[worst]} by {moved[worst]:.2g} standard deviations"
    if moved[worst] <= _SENSITIVE or k_hat > 1:
        text = f"The prior to the power {_POWER} moves {what} at most."
        return Finding("sensitivity", Level.OK, text, "", *numbers)
    text = f"The posterior depends on the prior: to the power {_POWER}, it moves {what}."
    remedy = "Say why the prior is what it is, or measure more."
    return Finding("sensitivity", Level.NOTE, text, remedy, *numbers)


@eqx.filter_jit
def _log_dets(space: Space, z: Float[Array, "K dim"]) -> Float[Array, " K"]:
    return jax.vmap(space.log_det)(z)
