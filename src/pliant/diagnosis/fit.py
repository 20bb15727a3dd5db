"""Whether the posterior agrees with its target: moments and modes of its weighted draws."""

import numpy as np
from jaxtyping import Float

from pliant.densities.modes import find_modes
from pliant.diagnosis.evidence import Evidence
from pliant.diagnosis.finding import Finding, Level, skipped

_GOOD, _USABLE = 0.7, 1.0  # of k-hat: above the first, weighted draws are no good estimate
_SHIFT, _FAR = 0.3, 0.8  # standard deviations between the means of posterior and target
_WIDTH, _OFF = 1.3, 1.8  # ratio of the widths
_SHARE = 0.1  # by which the share of a mode may differ
_CERTAIN = 4.0  # standard errors that a difference needs
_CLUSTERED = 1000  # draws in which modes are looked for

_MORE = (
    "Use pliant.resume with more rounds, or a more flexible family. Result.resampled() gives "
    "draws of the target if k-hat is below 0.7."
)


def check_fit(evidence: Evidence) -> list[Finding]:
    """Findings on k-hat, on means and widths, and on the shares of modes."""
    log_w = evidence.log_weights
    if log_w is None:
        return [skipped("fit", "Nothing was learned that the posterior could be compared with.")]
    if not np.any(np.isfinite(log_w)):
        text = "No draw of the posterior has a likelihood that is not zero."
        return [Finding("fit", Level.UNSOUND, text, _MORE)]
    weights, k_hat = evidence.weighted(log_w)
    return [
        _tail(k_hat, weights),
        _moments(evidence, weights),
        _modes(evidence.z, weights),
    ]


def _tail(k_hat: float, weights: Float[np.ndarray, " K"]) -> Finding:
    ess = 1 / np.sum(weights**2)
    level = Level.UNSOUND if k_hat > _USABLE else Level.DOUBTFUL if k_hat > _GOOD else Level.OK
    numbers = f"k-hat {k_hat:.2f}, ESS {ess:,.0f} of {len(weights):,}"
    if level is Level.OK:
        text = f"Weights turn draws of the posterior into draws of its target: {numbers}."
    else:
        text = f"The posterior misses parts of its target: {numbers}."
    return Finding("fit", level, text, "" if level is Level.OK else _MORE, k_hat, _GOOD)


def moments(
    values: Float[np.ndarray, "K columns"], weights: Float[np.ndarray, " K"]
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]:
    """How far the weighted mean is from the plain one, in deviations, and the ratio of widths."""
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    target = weights @ values
    width = np.sqrt(np.maximum(weights @ (values - target) ** 2, 0.0))
    return (target - mean) / spread, width / spread


def _moments(evidence: Evidence, weights: Float[np.ndarray, " K"]) -> Finding:
    """Of all unconstrained parameters; the worst one decides."""
    shift, width = moments(evidence.z, weights)
    noise = _CERTAIN / np.sqrt(1 / np.sum(weights**2))  # errors of the weighted mean
    ratio = np.maximum(width, 1 / np.maximum(width, 1e-9))
    far = np.abs(shift)
    names = _coordinates(evidence)
    worst = int(np.argmax(np.maximum(far / _SHIFT, np.log(ratio) / np.log(_WIDTH))))
    what = (
        f"the target of {names[worst]} is {shift[worst]:+.2f} standard deviations away and "
        f"{width[worst]:.2f} times as wide"
    )
    numbers = float(max(far.max(), np.log(ratio).max())), _SHIFT
    shifted, spread = far > np.maximum(_SHIFT, noise), np.log(ratio) > max(np.log(_WIDTH), noise)
    if not np.any(shifted | spread):
        text = f"Means and widths agree with the target: at most, {what}."
        return Finding("means and widths", Level.OK, text, "", *numbers)
    bad = np.any(far > _FAR) or np.any(ratio > _OFF)
    level = Level.UNSOUND if bad else Level.DOUBTFUL
    text = f"The posterior is not its target: {what}."
    return Finding("means and widths", level, text, _MORE, *numbers)


def _coordinates(evidence: Evidence) -> tuple[str, ...]:
    """Names of z: those of the parameters, where each has a coordinate of its own."""
    if evidence.z.shape[1] == len(evidence.names):
        return evidence.names
    return tuple(f"coordinate {i}" for i in range(evidence.z.shape[1]))


def _modes(z: Float[np.ndarray, "K dim"], weights: Float[np.ndarray, " K"]) -> Finding:
    """Compare the shares of modes under the posterior and under its target."""
    z, weights = z[:_CLUSTERED], weights[:_CLUSTERED]
    weights = weights / weights.sum()
    labels = find_modes(z)
    n_modes = int(labels.max()) + 1
    if n_modes < 2:
        return Finding("modes", Level.OK, "The posterior has one mode.", number=0.0, limit=_SHARE)
    plain = np.array([np.mean(labels == i) for i in range(n_modes)])
    target = np.array([np.sum(weights[labels == i]) for i in range(n_modes)])
    off = np.abs(target - plain)
    error = _CERTAIN * np.sqrt(np.sum(weights**2) * plain * (1 - plain))
    shares = ", ".join(f"{a:.2f} for {b:.2f}" for a, b in zip(plain, target, strict=True))
    numbers = float(off.max()), _SHARE
    text = f"{n_modes} modes, whose shares and those in the target are {shares}."
    if np.any(off > np.maximum(_SHARE, error)):
        return Finding("modes", Level.DOUBTFUL, text, _MORE, *numbers)
    return Finding("modes", Level.OK, text, "", *numbers)
