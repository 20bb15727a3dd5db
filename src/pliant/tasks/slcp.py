"""SLCP (simple likelihood, complex posterior): mean and covariance of a 2-d Gaussian."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Key

from pliant._checks import check_integer
from pliant.tasks.base import AbstractTask, Samples, read_observed
from pliant.tasks.rejection import collect

_DIM = 5
_POINTS = 4  # in one observation
_BOUND = 3.0
_TRUTH = (0.7, 1.5, -1.0, -0.9, 0.6)


class SLCPTask(AbstractTask):
    """One observation is four points of a 2-d Gaussian (Papamakarios et al., 2019).

    The mean is ``(t1, t2)``, the standard deviations are ``s1 = t3^2`` and ``s2 = t4^2``, the
    correlation is ``tanh(t5)``, and ``theta ~ U(-3, 3)^5``. The data do not depend on the signs of
    t3 and t4, so the posterior has four equal modes.
    """

    name: ClassVar[str] = "slcp"
    summary: ClassVar[str] = "mean and covariance of a 2-d Gaussian; four equal modes"

    @property
    def truth(self) -> dict[str, Array]:
        """The paper's values."""
        return {"theta": jnp.array(_TRUTH)}

    @property
    def prior(self) -> dict[str, dist.Distribution]:
        """Uniform on ``(-3, 3)^5``."""
        return {"theta": dist.Uniform(-jnp.full(_DIM, _BOUND), jnp.full(_DIM, _BOUND)).to_event(1)}

    def simulator(self, key: Key[Array, ""], theta: dict[str, Array]) -> Float[Array, "8"]:
        """Four independent points, flattened: ``(x_1, y_1, ..., x_4, y_4)``."""
        t1, t2, t3, t4, t5 = theta["theta"]
        u, v = jax.random.normal(key, (2, _POINTS))
        # rho = tanh(t5), and sqrt(1 - rho^2) = sech(t5) without cancellation
        x = t1 + t3**2 * u
        y = t2 + t4**2 * (jnp.tanh(t5) * u + v / jnp.cosh(t5))
        return jnp.stack([x, y], axis=1).ravel()

    def posterior_samples(self, observed: Any, *, seed: int = 0, n: int = 10_000) -> Samples:
        """Independent draws by rejection; see ``AbstractTask.posterior_samples``.

        With the mean ``m`` and the scatter ``S = sum (x - m)(x - m)'`` of all ``P = 4 N`` points,
        the likelihood is ``N((t1, t2) | m, C / P)`` times ``|C|^(-(P-1)/2) exp(-tr(S C^-1) / 2)``.
        As ``|dC / d(t3, t4, t5)| = 16 |t3 t4|^5 (1 - rho^2)``, the uniform prior of
        (t3, t4, t5) implies a prior of C proportional to ``|C|^(-5/4) (1 - rho^2)^(1/4)``. Without
        the bounds of the prior, the posterior is therefore

            ``InverseWishart(C | P - 3/2, S) (1 - rho^2)^(1/4) N((t1, t2) | m, C / P)``.

        The first and the last factor are sampled directly. The middle factor and the bounds are
        at most one and give the probability of acceptance. Both signs are equally probable.
        """
        x = read_observed(observed, (2 * _POINTS,)).reshape(-1, 2)
        n = check_integer("n", n, at_least=1)
        rng = np.random.default_rng(seed)
        mean = x.mean(axis=0)
        try:
            root = np.linalg.cholesky((x - mean).T @ (x - mean))
        except np.linalg.LinAlgError as error:
            raise ValueError("observed: expected points that are not all on one line.") from error

        def propose(m: int) -> np.ndarray:
            factor = _inverse_wishart_factor(rng, len(x) - 1.5, root, m)
            variances = np.sum(factor**2, axis=2)
            covariance = np.sum(factor[:, 0] * factor[:, 1], axis=1)
            rho = covariance / np.sqrt(np.prod(variances, axis=1))
            noise = rng.standard_normal((m, 2, 1))
            theta = np.empty((m, _DIM))
            theta[:, :2] = mean + (factor @ noise)[:, :, 0] / len(x) ** 0.5
            theta[:, 2:4] = variances**0.25 * rng.choice([-1.0, 1.0], (m, 2))
            with np.errstate(divide="ignore", invalid="ignore"):  # |rho| rounded to one or above
                theta[:, 4] = np.arctanh(rho)
            inside = np.all(np.abs(theta) < _BOUND, axis=1)  # False for NaN
            return theta[inside & (rng.random(m) ** 4 < 1 - rho**2)]

        return {"theta": collect(propose, n)}


def _inverse_wishart_factor(
    rng: np.random.Generator, freedom: float, root: Float[np.ndarray, "2 2"], m: int
) -> Float[np.ndarray, "m 2 2"]:
    """Factors B of ``m`` draws ``C = B B'`` of the inverse Wishart with scale ``root root'``.

    Bartlett: ``C^-1 = root^-T A A' root^-1`` with A lower triangular, so ``B = root A^-T``.
    """
    a11 = np.sqrt(rng.chisquare(freedom, m))
    a22 = np.sqrt(rng.chisquare(freedom - 1, m))
    a21 = rng.standard_normal(m)
    inverse = np.zeros((m, 2, 2))
    inverse[:, 0, 0], inverse[:, 1, 1] = 1 / a11, 1 / a22
    inverse[:, 0, 1] = -a21 / (a11 * a22)
    return root @ inverse
