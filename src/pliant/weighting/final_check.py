"""How well the posterior that a run ends with fits its target: importance weights of its draws."""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from pliant._importance import effective_sample_size, smooth_weights

GOOD, USABLE = 0.5, 0.7  # of k-hat (Vehtari et al. 2024)
_MANY, _SOME = 0.5, 0.2  # of the draws that count: 0.5 where the widths are off by a factor of 1.2


class FinalCheck(eqx.Module):
    """Draws of the final posterior q, weighed by ``p L / q``.

    If q were the target, all weights would be equal. Where it is not, weighing or resampling its
    draws corrects them (``Result.resampled``), as long as k-hat says that the weights can be
    trusted.
    """

    z: Float[np.ndarray, "K dim"]
    log_weights: Float[np.ndarray, " K"]
    """Pareto-smoothed, up to a constant."""
    k_hat: float
    """The shape of the raw weights' tail: fine below 0.5, unusable above 0.7."""

    @property
    def ess(self) -> float:
        """The effective sample size of the weights."""
        return effective_sample_size(self.log_weights)

    @property
    def is_usable(self) -> bool:
        """Whether the posterior fits its target at least roughly."""
        return self.k_hat <= USABLE and self.ess >= _SOME * len(self.z)

    @property
    def message(self) -> str:
        """The check in a sentence or two."""
        numbers = f"k-hat {self.k_hat:.2f}, ESS {self.ess:,.0f} of {len(self.z):,}"
        share = self.ess / len(self.z)
        if self.k_hat <= GOOD and share >= _MANY:
            return f"The posterior fits its target: {numbers}."
        if self.is_usable:
            return f"The posterior fits its target roughly: {numbers}."
        wide = self.k_hat <= USABLE
        what = "is far wider than its target" if wide else "misses parts of its target"
        return f"The posterior {what}: {numbers}. More rounds, or a more flexible family, may help."


def final_check(z: Float[np.ndarray, "K dim"], log_weights: Float[np.ndarray, " K"]) -> FinalCheck:
    """Smooth the weights of draws and look at their tail."""
    smoothed, k_hat = smooth_weights(log_weights)
    return FinalCheck(np.asarray(z), smoothed, k_hat)
