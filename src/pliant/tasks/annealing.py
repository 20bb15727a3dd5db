"""Exact samples of a smooth posterior, by rejection from a proposal that annealing has fitted."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from pliant.tasks.rejection import collect

LogLikelihood = Callable[[Float[np.ndarray, "m dim"]], Float[np.ndarray, " m"]]

_DRAWS = 2000  # of each proposal
_LEAST_SHARE = 0.1  # effective sample size over draws: how far a step of the annealing goes
_FREEDOM = 5.0  # of the t distributions: their tails are heavier than the posterior's
_MOST_STEPS = 100
_FINAL_FITS = 2
_MARGIN = np.log(1.2)  # of the bound on the weights above the largest weight seen
_MOST_BOUNDS = 20


def sample_annealed(
    log_likelihood: LogLikelihood, dim: int, *, n: int, rng: np.random.Generator
) -> Float[np.ndarray, "n dim"]:
    """``n`` independent samples of ``N(z | 0, I) L(z)``, a posterior with a standard normal prior.

    Draws from the prior are weighted by ``L^t`` with the largest t that leaves a tenth of them
    effective. A t distribution is fitted to them and proposes the next draws, until t is 1. As
    the first draws cover the prior, a mode is found wherever it is. The last proposal q serves
    rejection sampling: a draw is accepted with the probability ``N L / q`` over its bound, which
    is above the largest ratio seen. If a draw exceeds it, sampling starts again with a larger
    one. The fit determines the speed, and the bound is what exactness rests on.

    Args:
        log_likelihood: ``log L`` up to a constant, finite.
        dim: The dimension of z.
        n: The number of samples.
        rng: The source of randomness.

    Raises:
        RuntimeError: If annealing does not reach the posterior, which a t distribution cannot
            propose (narrow modes far apart), or if almost every proposal is rejected.
    """
    proposal, bound = _anneal(log_likelihood, dim, rng)
    for _ in range(_MOST_BOUNDS):
        try:
            return collect(partial(_propose, log_likelihood, proposal, bound, rng), n)
        except _TooLowError as error:
            bound = error.largest + _MARGIN
    raise RuntimeError("The exact posterior could not be sampled: its weights have no bound.")


class _StudentT(NamedTuple):
    """A multivariate t distribution."""

    mean: Float[np.ndarray, " dim"]
    root: Float[np.ndarray, "dim dim"]
    """The lower triangular factor of the scale matrix."""
    freedom: float

    def draw(self, rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        """``m`` draws and their log-densities, up to a constant that depends on the freedom."""
        dim = len(self.mean)
        normal = rng.standard_normal((m, dim))
        unit = normal
        square = np.sum(normal**2, axis=1)
        log_q = -square / 2
        if np.isfinite(self.freedom):
            spread = rng.chisquare(self.freedom, m) / self.freedom
            unit = normal / np.sqrt(spread)[:, None]
            log_q = -(self.freedom + dim) / 2 * np.log1p(square / (spread * self.freedom))
        return self.mean + unit @ self.root.T, log_q


class _TooLowError(Exception):
    """A draw exceeded the bound on the weights."""

    def __init__(self, largest: float):
        self.largest = largest


def _propose(
    log_likelihood: LogLikelihood,
    proposal: _StudentT,
    bound: float,
    rng: np.random.Generator,
    m: int,
) -> Float[np.ndarray, "accepted dim"]:
    z, log_q = proposal.draw(rng, m)
    excess = log_likelihood(z) - np.sum(z**2, axis=1) / 2 - log_q - bound
    if excess.max() > 0:
        raise _TooLowError(float(excess.max() + bound))
    return z[np.log(rng.random(m)) < excess]


def _anneal(
    log_likelihood: LogLikelihood, dim: int, rng: np.random.Generator
) -> tuple[_StudentT, float]:
    """A proposal for the posterior, and a bound on the logarithm of its weights."""
    proposal = _StudentT(np.zeros(dim), np.eye(dim), np.inf)
    exponent, fits = 0.0, 0
    for _ in range(_MOST_STEPS):
        z, log_q = proposal.draw(rng, _DRAWS)
        log_l, base = log_likelihood(z), -np.sum(z**2, axis=1) / 2 - log_q
        exponent = _next_exponent(exponent, log_l, base)
        if exponent == 1:
            fits += 1
            if fits > _FINAL_FITS:
                return proposal, float(np.max(log_l + base)) + _MARGIN
        proposal = _fit(z, _normalise(exponent * log_l + base))
    raise RuntimeError(
        "The exact posterior could not be sampled: it is too far from a t distribution."
    )


def _next_exponent(exponent: float, log_l: np.ndarray, base: np.ndarray) -> float:
    """The largest exponent whose weights leave enough draws effective, by bisection."""

    def enough(t: float) -> bool:
        w = _normalise(t * log_l + base)
        return bool(1 / np.sum(w**2) > _LEAST_SHARE * len(w))

    if exponent == 1 or enough(1.0):
        return 1.0
    low, high = exponent, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def _normalise(log_w: np.ndarray) -> np.ndarray:
    w = np.exp(log_w - log_w.max())
    return w / w.sum()


def _fit(z: np.ndarray, w: np.ndarray) -> _StudentT:
    """The t distribution with the weighted draws' mean and, as its scale matrix, covariance."""
    mean = w @ z
    return _StudentT(mean, np.linalg.cholesky((w * (z - mean).T) @ (z - mean)), _FREEDOM)
