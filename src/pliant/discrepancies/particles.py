"""The particles of one round: parameters with their densities and distances."""

import equinox as eqx
import numpy as np
from jaxtyping import Float


class Particles(eqx.Module):
    """What one round knows of its K parameters, in double precision.

    The proposal's log q is computed once, when the parameters are drawn, and travels
    with them; in round one it is the prior's.
    """

    z: Float[np.ndarray, "K dim"]
    log_prior: Float[np.ndarray, " K"]
    log_q: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    """D(observed, simulated); infinite where too few draws are usable."""
    log_partition: Float[np.ndarray, " K"]
    """log Z(theta) of eq. 7; zero where it is taken as constant."""
    log_base: Float[np.ndarray, " K"] | None = None
    """Log-weights with which the parameters stand for the proposal; None if they were drawn
    from it, all alike."""
