"""EarlierRound rounds' simulations, used again through the densities that they were drawn from."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pliant.densities.base import AbstractDensity
from pliant.discrepancies.base import Particles
from pliant.problem.problem import Problem


class EarlierRound(eqx.Module):
    """The particles of a round, and the density that they were drawn from."""

    proposal: AbstractDensity | None
    """None for the prior."""
    particles: Particles


def pooled(
    problem: Problem, newest: EarlierRound, earlier: tuple[EarlierRound, ...], *, rounds: int
) -> Particles:
    """The particles of several rounds, weighted as a sample of the newest proposal.

    All rounds together are a sample of the mixture of their proposals (Veach and Guibas, 1995;
    Owen and Zhou, 2000), whichever of them a particle came from: so its weight is ``q(z) / mean_s
    q_s(z)``, which is bounded by the number of rounds, as q is one of the q_s.

    Args:
        problem: With the prior.
        newest: The round whose proposal they become a sample of.
        earlier: Rounds before, each with as many particles.
        rounds: To how many rounds the arrays are padded, to avoid recompilation; the
            padding has no weight.
    """
    parts = [newest, *earlier]
    known = sum(len(part.particles.z) for part in parts)
    size = rounds * len(newest.particles.z)
    proposals = [problem.prior if p.proposal is None else p.proposal for p in parts]

    def joined(name: str) -> Float[np.ndarray, "C ..."]:
        whole = np.concatenate([getattr(part.particles, name) for part in parts])
        return np.concatenate([whole, np.repeat(whole[:1], size - known, axis=0)])

    z = joined("z")
    points = jnp.asarray(z, float)
    log_q = np.stack([np.asarray(q.log_prob(points), np.float64) for q in proposals])
    log_base = log_q[0] - logsumexp(log_q, axis=0) + np.log(len(parts))
    log_base[known:] = -np.inf
    return Particles(
        z=z,
        log_prior=joined("log_prior"),
        log_q=log_q[0],
        distance=joined("distance"),
        log_partition=joined("log_partition"),
        log_base=log_base,
    )
