"""The Gaussian mixture family, fitted by expectation-maximisation with weights."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from pliant._checks import check_instance, check_integer
from pliant.densities.base import AbstractModel, AbstractModelFamily
from pliant.densities.gaussian import GaussianDensity, gaussian_from_moments, weighted_moments
from pliant.densities.training import Training

_PRIOR_SAMPLES = 1.0  # the weight of the prior on each covariance, in samples
_TOLERANCE = 1e-5  # EM stops when the mean log density improves by less, in nats


class MixtureDensity(AbstractModel):
    """``sum_c share_c N(mean_c, L_c L_c^T)``; ``components`` has a leading axis c."""

    logits: Float[Array, " C"]
    components: GaussianDensity

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.components.mean.shape[1]

    @property
    def n_components(self) -> int:
        """C, the number of components."""
        return self.logits.shape[0]

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        label_key, draw_key = jax.random.split(key)
        labels = jax.random.categorical(label_key, self.logits, shape=(n,))
        noise = jax.random.normal(draw_key, (n, self.dim))
        factors = jax.vmap(lambda c: c.cholesky)(self.components)
        return self.components.mean[labels] + jnp.einsum("nij,nj->ni", factors[labels], noise)

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[Array, "m dim"], Float[Array, " m"]]:
        """The same number of draws of each component, weighted by the components' shares.

        A label is not differentiable with respect to the shares; a weight is.
        """
        each = -(-n // self.n_components)
        keys = jax.random.split(key, self.n_components)
        z, _ = jax.vmap(lambda c, k: c.draw(k, each))(self.components, keys)
        log_shares = jax.nn.log_softmax(self.logits) + jnp.log(self.n_components)
        return z.reshape(-1, self.dim), jnp.repeat(log_shares, each)

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        each = jax.vmap(lambda component: component.log_prob(z))(self.components)
        return jax.nn.logsumexp(jax.nn.log_softmax(self.logits)[:, None] + each, axis=0)

    def stretched(self, factor: float) -> "MixtureDensity":
        """With every Gaussian ``factor`` times as wide."""
        wide = jax.vmap(lambda component: component.stretched(factor))(self.components)
        return MixtureDensity(self.logits, wide)


class GaussianMixture(AbstractModelFamily):
    """q is a mixture of Gaussians with full covariances.

    Weighted EM from k-means++ starts and from the previous round's mixture; the fit with the
    highest likelihood is kept. A prior on each covariance prevents a component from collapsing onto
    a sample. It weighs as much as one sample, and has the width that the components would have if
    they divided the whole volume.

    Args:
        components: The number of Gaussians.
        starts: Random starts per round.
        iterations: The maximum number of EM iterations per start.
        reverse_training: How the i-projection is trained.
    """

    components: int = eqx.field(static=True, default=8)
    starts: int = eqx.field(static=True, default=3)
    iterations: int = eqx.field(static=True, default=200)
    reverse_training: Training = Training(rate=3e-3)

    def __check_init__(self):
        check_integer("components", self.components, at_least=1)
        check_integer("starts", self.starts, at_least=1)
        check_integer("iterations", self.iterations, at_least=1)
        check_instance("reverse_training", self.reverse_training, Training, "pliant.Training()")

    def fit(
        self,
        key: Key[Array, ""],
        z: Float[Array, "K dim"],
        log_weights: Float[Array, " K"],
        init: AbstractModel | None,
    ) -> tuple[MixtureDensity, dict[str, Any]]:
        """Weighted EM in whitened coordinates, in double precision."""
        kept = np.isfinite(np.asarray(log_weights))
        z, log_weights = z[kept], log_weights[kept]
        mean, covariance = weighted_moments(z, log_weights)
        factor = np.linalg.cholesky(covariance)
        x = np.linalg.solve(factor, (np.asarray(z, np.float64) - mean).T).T
        log_w = np.asarray(log_weights, np.float64)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()

        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        starts = [_first_shares(rng, x, w, self.components) for _ in range(self.starts)]
        if isinstance(init, MixtureDensity):
            starts.append(_responsibilities_of(init, z))
        fits = [_maximise(x, w, start, self.iterations) for start in starts]
        shares, means, covariances, score, steps = max(fits, key=lambda fit: fit[3])
        density = _mixture(shares, mean + means @ factor.T, factor @ covariances @ factor.T)
        return density, {"fit_steps": steps, "held_out": -score}


def _maximise(
    x: np.ndarray, w: np.ndarray, responsibilities: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int]:
    """EM from given responsibilities ``(K, C)``: shares, means, covariances, score, iterations."""
    ess = 1 / np.sum(w**2)
    score, step = -np.inf, 0
    while True:
        shares, means, covariances = _m_step(x, w, responsibilities, ess)
        log_joint = np.log(shares) + _log_densities(x, means, covariances)
        top = log_joint.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(log_joint - top).sum(axis=1))
        responsibilities = np.exp(log_joint - total[:, None])
        last, score, step = score, float(w @ total), step + 1
        if score - last < _TOLERANCE or step >= iterations:
            return shares, means, covariances, score, step


def _m_step(
    x: np.ndarray, w: np.ndarray, responsibilities: np.ndarray, ess: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dim, n_components = x.shape[1], responsibilities.shape[1]
    mass = responsibilities * w[:, None]
    shares = mass.sum(axis=0) + 1e-10
    means = (mass.T @ x) / shares[:, None]
    width = n_components ** (-2 / dim)
    covariances = np.empty((n_components, dim, dim))
    for c in range(n_components):
        centred = x - means[c]
        scatter = (centred * mass[:, c : c + 1]).T @ centred
        samples = ess * shares[c]
        covariances[c] = ess * scatter + _PRIOR_SAMPLES * width * np.eye(dim)
        covariances[c] /= samples + _PRIOR_SAMPLES
    return shares / shares.sum(), means, covariances


def _log_densities(x: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Log densities ``(K, C)`` of points under each Gaussian."""
    columns = []
    for mean, covariance in zip(means, covariances, strict=True):
        factor = np.linalg.cholesky(covariance)
        white = np.linalg.solve(factor, (x - mean).T)
        constant = 0.5 * len(mean) * np.log(2 * np.pi) + np.log(np.diag(factor)).sum()
        columns.append(-0.5 * np.sum(white**2, axis=0) - constant)
    return np.stack(columns, axis=1)


def _first_shares(rng: np.random.Generator, x: np.ndarray, w: np.ndarray, n: int) -> np.ndarray:
    """Hard assignments ``(K, n)`` to k-means++ centres: each far from those before it."""
    centres = [x[rng.choice(len(x), p=w)]]
    nearest = np.sum((x - centres[0]) ** 2, axis=1)
    for _ in range(n - 1):
        mass = w * nearest
        p = mass / mass.sum() if mass.sum() > 0 else w
        centres.append(x[rng.choice(len(x), p=p)])
        nearest = np.minimum(nearest, np.sum((x - centres[-1]) ** 2, axis=1))
    distances = np.stack([np.sum((x - centre) ** 2, axis=1) for centre in centres], axis=1)
    return np.eye(n)[np.argmin(distances, axis=1)]


def _responsibilities_of(density: MixtureDensity, z: Array) -> np.ndarray:
    each = jax.vmap(lambda component: component.log_prob(z))(density.components)
    joint = np.asarray(jax.nn.log_softmax(density.logits)[:, None] + each, np.float64)
    joint -= joint.max(axis=0)
    return (np.exp(joint) / np.exp(joint).sum(axis=0)).T


def _mixture(shares: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> MixtureDensity:
    components = [gaussian_from_moments(*pair) for pair in zip(means, covariances, strict=True)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *components)
    return MixtureDensity(logits=jnp.asarray(np.log(shares), float), components=stacked)
