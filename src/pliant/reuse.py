"""Earlier rounds' simulations, used again through the densities that they were drawn from."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pliant.families.base import AbstractDensity
from pliant.particles import Particles
from pliant.problem import Problem


class Earlier(eqx.Module):
    """The particles of a round, and the density that they were drawn from."""

    proposal: AbstractDensity | None
    """None for the prior."""
    particles: Particles


def pooled(
    problem: Problem, newest: Earlier, earlier: tuple[Earlier, ...], *, rounds: int
) -> Particles:
    """The particles of several rounds, weighted so that they stand for the newest proposal.

    All rounds together are a sample of the mixture of their proposals (Veach and Guibas, 1995;
    Owen and Zhou, 2000), whichever of them a particle came from: so its weight is ``q(z) / mean_s
    q_s(z)``, which is bounded by the number of rounds, as q is one of the q_s.

    Args:
        problem: With the prior.
        newest: The round whose proposal they shall stand for.
        earlier: Rounds before, each with as many particles.
        rounds: To how many rounds the arrays are padded, so that nothing is compiled anew; the
            padding has no weight.
    """
    parts = [newest, *earlier]
    z = np.concatenate([part.particles.z for part in parts])
    proposals = [problem.prior if p.proposal is None else p.proposal for p in parts]
    points = jnp.asarray(z, float)
    log_q = np.stack([np.asarray(q.log_prob(points), np.float64) for q in proposals])
    own = log_q[0]
    log_base = own - logsumexp(log_q, axis=0) + np.log(len(parts))
    missing = (rounds - len(parts)) * len(newest.particles.z)

    def joined(name: str, filling: float) -> Float[np.ndarray, " C"]:
        known = np.concatenate([getattr(part.particles, name) for part in parts])
        return np.pad(known, (0, missing), constant_values=filling)

    return Particles(
        z=np.concatenate([z, np.repeat(z[:1], missing, axis=0)]),
        log_prior=joined("log_prior", 0.0),
        log_q=np.pad(own, (0, missing)),
        distance=joined("distance", np.inf),
        log_partition=joined("log_partition", 0.0),
        log_base=np.pad(log_base, (0, missing), constant_values=-np.inf),
    )
