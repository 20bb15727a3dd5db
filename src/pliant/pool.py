"""Weighted samples of the last rounds, kept together once the bandwidth has settled."""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from pliant.particles import effective_sample_size, normalise

_SETTLED = 1.1  # rounds whose bandwidths differ by less have nearly the same target


class Pool(eqx.Module):
    """The newest ``rounds`` sets of K weighted samples, newest first, at a fixed size.

    Near the end of a run all rounds have nearly the same target, and each has weights with
    noise of its own: fitting several at once averages it out. A round counts by its
    effective sample size, and not at all while the bandwidth still falls. Places of rounds
    that are not there yet have no weight, so that shapes never change.
    """

    z: Float[np.ndarray, "rounds K dim"]
    log_weights: Float[np.ndarray, "rounds K"]
    bandwidth: Float[np.ndarray, " rounds"]

    def add(
        self, z: Float[np.ndarray, "K dim"], log_weights: Float[np.ndarray, " K"], bandwidth: float
    ) -> "Pool":
        """The pool with a new round in front, and without its oldest one."""
        with np.errstate(divide="ignore"):
            scaled = np.log(normalise(log_weights) * effective_sample_size(log_weights))
        return Pool(
            z=np.concatenate([z[None], self.z[:-1]]),
            log_weights=np.concatenate([scaled[None], self.log_weights[:-1]]),
            bandwidth=np.concatenate([[bandwidth], self.bandwidth[:-1]]),
        )

    def samples(self) -> tuple[Float[np.ndarray, "n dim"], Float[np.ndarray, " n"]]:
        """Samples and log-weights of all rounds whose bandwidth is close to the newest one's."""
        close = self.bandwidth <= _SETTLED * self.bandwidth[0]
        log_weights = np.where(close[:, None], self.log_weights, -np.inf)
        return self.z.reshape(-1, self.z.shape[-1]), log_weights.ravel()


def empty_pool(rounds: int, n_params: int, dim: int) -> Pool:
    """A pool without any round."""
    return Pool(
        z=np.zeros((rounds, n_params, dim)),
        log_weights=np.full((rounds, n_params), -np.inf),
        bandwidth=np.full(rounds, np.inf),
    )
