"""The neural spline flow: coupling splines in whitened coordinates."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, logsumexp, softmax

from pliant._checks import check_instance, check_integer
from pliant._devices import in_threads
from pliant._importance import effective_sample_size
from pliant.densities.base import AbstractModel, AbstractModelFamily
from pliant.densities.coupling import CouplingFlow
from pliant.densities.flow_mixture import FlowMixture
from pliant.densities.gaussian import gaussian_from_moments, weighted_moments
from pliant.densities.modes import LEAST_ESS, weighted_modes
from pliant.densities.training import Training, train

_HELD_OUT = 0.1
_BLOCK = 5000  # samples: rounds of up to as many share one compiled training
_APART = 10.0  # standard deviations between two modes that no flow should connect
_LEAST_SHARE = 1e-3  # of the weight, for a mode to be kept


class FlowDensity(AbstractModel):
    """z = mean + L x, where the flow maps x to a standard normal."""

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]
    flow: CouplingFlow

    @property
    def dim(self) -> int:
        """The dimension of z."""
        return self.mean.shape[0]

    @eqx.filter_jit
    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        """``n`` independent draws."""
        return self.draw(key, n)[0]

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[Array, "n dim"], Float[Array, " n"]]:
        """Normal noise through the inverse flow, all of weight one."""
        x, _ = self.flow.inverse(jax.random.normal(key, (self.dim, n)))
        return self.mean[None] + x.T @ self.factor.T, jnp.zeros(n)

    @eqx.filter_jit
    def log_prob(self, z: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """Log densities of ``n`` points."""
        centred = z - self.mean[None]
        x = jax.scipy.linalg.solve_triangular(self.factor, centred.T, lower=True)
        return flow_log_prob(self.flow, x) - jnp.sum(jnp.log(jnp.diag(self.factor)))

    def stretched(self, factor: float) -> "FlowDensity":
        """``mean + factor L x``."""
        return FlowDensity(self.mean, factor * self.factor, self.flow)


def flow_log_prob(
    flow: CouplingFlow, x: Float[Array, "dim B"], condition: Array | None = None
) -> Float[Array, " B"]:
    """Log density of points that the flow maps to a standard normal."""
    noise, log_det = flow.forward(x, condition)
    return log_det - 0.5 * jnp.sum(noise**2, axis=0) - 0.5 * flow.dim * jnp.log(2 * jnp.pi)


class SplineFlow(AbstractModelFamily):
    """q is a neural spline flow, fitted by gradient descent and warm-started.

    Each round whitens the samples by their weighted mean and covariance. In these coordinates the
    posterior changes little between rounds, and the previous round's flow is a good start.
    ``SplineFlow.paper`` is the flow of the paper's experiments.

    Args:
        layers: Coupling layers (the paper: 5).
        bins: Bins of each spline (the paper: 10).
        width: Units in each hidden layer (the paper: 50).
        depth: Hidden layers of each network (the paper's table: 3, its authors' code: 2).
        training: Steps, rate and early stopping.
        batch_size: Samples per gradient step, drawn by their weights.
        warm_start: Whether to start from the previous round's flow.
        whitening: What is taken out of the samples before the flow: the weighted mean and
            covariance ("full"), mean and standard deviations ("diagonal", as in the code of the
            paper's authors), or nothing ("none").
        split: Whether modes that are clearly apart get a flow each. One flow connects them, and
            some of its draws lie in between.
        reverse_training: How the i-projection is trained.
    """

    layers: int = eqx.field(static=True, default=5)
    bins: int = eqx.field(static=True, default=10)
    width: int = eqx.field(static=True, default=50)
    depth: int = eqx.field(static=True, default=2)
    training: Training = Training()
    batch_size: int = eqx.field(static=True, default=250)
    warm_start: bool = eqx.field(static=True, default=True)
    whitening: Literal["full", "diagonal", "none"] = eqx.field(static=True, default="full")
    split: bool = eqx.field(static=True, default=True)
    reverse_training: Training = Training(rate=3e-4)

    def __check_init__(self):
        check_integer("layers", self.layers, at_least=1)
        check_integer("bins", self.bins, at_least=2)
        check_integer("width", self.width, at_least=1)
        check_integer("depth", self.depth, at_least=1)
        check_integer("batch_size", self.batch_size, at_least=1)
        check_instance("warm_start", self.warm_start, bool, "True")
        check_instance("split", self.split, bool, "True")
        if self.whitening not in ("full", "diagonal", "none"):
            raise ValueError(
                f'whitening: expected "full", "diagonal" or "none", got {self.whitening!r}.'
            )
        check_instance("training", self.training, Training, "pliant.Training()")
        check_instance("reverse_training", self.reverse_training, Training, "pliant.Training()")

    @classmethod
    def paper(cls, **options: Any) -> "SplineFlow":
        """The flow of the paper's table C.3, trained as its authors' code does.

        Each round begins with a new flow and passes 5000 times over 5000 samples in batches of
        125: 200,000 steps. The rate is the code's 1e-4; the table's 1e-5 is ten times lower.

        Args:
            **options: Anything that SplineFlow takes, in place of the paper's setting.
        """
        settings = {
            "layers": 5,
            "bins": 10,
            "width": 50,
            "depth": 3,
            "training": Training.plain(steps=200_000, rate=1e-4),
            "batch_size": 125,
            "warm_start": False,
            "whitening": "diagonal",
            "split": False,
        }
        return cls(**{**settings, **options})

    def fit(
        self,
        key: Key[Array, ""],
        z: Float[Array, "K dim"],
        log_weights: Float[Array, " K"],
        init: AbstractModel | None,
    ) -> tuple[FlowDensity | FlowMixture, dict[str, Any]]:
        """Weighted maximum likelihood (eq. 11), stopped by a held-out share of the samples."""
        modes, kept = np.zeros(len(z), int), []
        if self.split:
            rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
            modes = weighted_modes(rng, np.asarray(z), np.asarray(log_weights))
            modes, kept = _without_small(init, np.asarray(z), np.asarray(log_weights), modes)
        if modes.max() == 0 and not kept:
            return self._fit_flow(key, z, log_weights, init)
        keys = jax.random.split(key, modes.max() + 1)
        # All have the same shapes, so that they are compiled once.
        log_w = [jnp.where(modes == mode, log_weights, -jnp.inf) for mode in range(len(keys))]
        starts = [_component_near(init, z, own) for own in log_w]
        found = in_threads(self._fit_flow, keys, [z] * len(keys), log_w, starts)
        logits = [_log_sum(np.asarray(own)) for own in log_w]
        info = {"fit_steps": max(int(info["fit_steps"]) for _, info in found)}
        if self.training.selection:
            held_out = np.array([float(info["held_out"]) for _, info in found])
            info["held_out"] = softmax(logits) @ held_out
        components = *(density for density, _ in found), *(flow for flow, _ in kept)
        log_shares = log_softmax([*logits, *(logit for _, logit in kept)])
        return FlowMixture(jnp.asarray(log_shares, float), components), info

    def _fit_flow(
        self,
        key: Key[Array, ""],
        z: Float[Array, "K dim"],
        log_weights: Float[Array, " K"],
        init: AbstractModel | None,
    ) -> tuple[FlowDensity, dict[str, Any]]:
        """One flow, whatever the number of modes."""
        start_key, train_key, split_key = jax.random.split(key, 3)
        density = self._start(start_key, *self._whitening(z, log_weights), init)
        centred = np.asarray(z) - np.asarray(density.mean)
        x = solve_triangular(np.asarray(density.factor), centred.T, lower=True)
        held_out = _HELD_OUT if self.training.selection else 0.0
        data = _Data(split_key, x, np.asarray(log_weights, np.float64), held_out, self.batch_size)
        held_out_loss = _held_out_loss if self.training.selection else None
        flow, info = train(train_key, density.flow, data, _loss, held_out_loss, self.training)
        return eqx.tree_at(lambda d: d.flow, density, flow), info

    def _whitening(
        self, z: Float[Array, "K dim"], log_weights: Float[Array, " K"]
    ) -> tuple[Float[Array, " dim"], Float[Array, "dim dim"]]:
        """The mean and the lower triangular factor that map the flow's x to z."""
        if self.whitening == "none":
            return jnp.zeros(z.shape[1]), jnp.eye(z.shape[1])
        mean, covariance = weighted_moments(z, log_weights)
        if self.whitening == "diagonal":
            covariance = np.diag(np.diag(covariance))
        gaussian = gaussian_from_moments(mean, covariance)
        return gaussian.mean, gaussian.cholesky

    def _start(
        self, key: Key[Array, ""], mean: Array, factor: Array, init: AbstractModel | None
    ) -> FlowDensity:
        if isinstance(init, FlowDensity) and self.warm_start:
            flow = init.flow
        else:
            flow = CouplingFlow(
                key,
                dim=mean.shape[0],
                layers=self.layers,
                bins=self.bins,
                width=self.width,
                depth=self.depth,
            )
        return FlowDensity(mean=mean, factor=factor, flow=flow)


def _component_near(
    init: AbstractModel | None, z: Float[Array, "K dim"], log_weights: Float[Array, " K"]
) -> AbstractModel | None:
    """The component of the last mixture that is nearest to a mode; None if it was no mixture."""
    if not isinstance(init, FlowMixture):
        return None
    mean, _ = weighted_moments(z, log_weights)
    return _flows(init)[int(np.argmin(_deviations(_flows(init), np.asarray(mean)[None])))]


def _without_small(
    init: AbstractModel | None,
    z: Float[np.ndarray, "K dim"],
    log_weights: Float[np.ndarray, " K"],
    modes: Int[np.ndarray, " K"],
) -> tuple[Int[np.ndarray, " K"], list[tuple[FlowDensity, float]]]:
    """Modes with enough samples for a fit, and components of the last mixture that have too few.

    Those are kept as they are, with the logarithm of the weight that they have now. Joined with
    the nearest mode, a flow would connect both, and most of its draws lie in between. (SLCP, N =
    1000: a mode with a tenth of the weight made the others lose their shape, and was lost.)

    Args:
        init: The last density.
        z: Samples.
        log_weights: Of the samples.
        modes: To which mode each sample belongs. It is -1, in what is returned, for those of a
            component that is kept.
    """
    if not isinstance(init, FlowMixture):
        return modes, []
    flows, weights = _flows(init), softmax(np.asarray(log_weights, np.float64))
    nearest = np.argmin(_deviations(flows, z), axis=0)
    fitted = {
        int(np.argmax(np.bincount(nearest[modes == mode], weights[modes == mode])))
        for mode in range(modes.max() + 1)
    }
    large = [flows[index] for index in fitted]
    modes, kept = modes.copy(), []
    for index in sorted(set(range(len(flows))) - fitted):
        own = nearest == index
        apart = _deviations(large, np.asarray(flows[index].mean)[None]).min() > _APART
        few = effective_sample_size(log_weights[own]) < LEAST_ESS
        if apart and few and weights[own].sum() > _LEAST_SHARE:
            kept.append((flows[index], _log_sum(log_weights[own])))
            modes[own] = -1
    return modes, kept


def _log_sum(log_weights: Float[np.ndarray, " K"]) -> float:
    return float(np.asarray(logsumexp(log_weights.astype(np.float64))))


def _flows(mixture: FlowMixture) -> list[FlowDensity]:
    return [flow for flow in mixture.components if isinstance(flow, FlowDensity)]


def _deviations(
    flows: list[FlowDensity], z: Float[np.ndarray, "K dim"]
) -> Float[np.ndarray, "C K"]:
    """How many standard deviations points are away from the centre of each flow."""
    each = [
        solve_triangular(np.asarray(flow.factor), (z - np.asarray(flow.mean)).T, lower=True)
        for flow in flows
    ]
    return np.linalg.norm(np.stack(each), axis=1)


class _Data(eqx.Module):
    """Weighted samples: the first ones are held out, the others trained on."""

    held_out: Float[Array, "dim H"]
    held_out_weights: Float[Array, " H"]
    trained: Float[Array, "dim T"]
    cumulative: Float[Array, " T"]
    batch_size: int = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        x: Float[np.ndarray, "dim K"],
        log_weights: Float[np.ndarray, " K"],
        held_out_share: float,
        batch_size: int,
    ):
        """In NumPy, because JAX would need seconds to compile a dozen small operations.

        Zeros without weight follow, so that one compiled training serves rounds of several sizes.
        """
        n_all = x.shape[1]
        n = max(1, int(held_out_share * n_all)) if held_out_share else 0
        order = np.random.default_rng(np.asarray(jax.random.key_data(key))).permutation(n_all)
        held_out, trained = order[:n], order[n:]
        whole = -(-n_all // _BLOCK) * _BLOCK
        most = max(n, int(held_out_share * whole))
        cumulative = np.cumsum(softmax(log_weights[trained]))
        weights = softmax(log_weights[held_out]) if n else np.zeros(0)
        self.held_out = jnp.asarray(_padded(x[:, held_out], most), float)
        self.held_out_weights = jnp.asarray(_padded(weights, most), float)
        self.trained = jnp.asarray(_padded(x[:, trained], whole - most), float)
        ends = _padded(cumulative / cumulative[-1], whole - most, 1.0)  # none is drawn beyond one
        self.cumulative = jnp.asarray(ends, float)
        self.batch_size = batch_size


def _padded(values: np.ndarray, length: int, end: float = 0.0) -> np.ndarray:
    """With a longer last axis."""
    widths = [(0, 0)] * (values.ndim - 1) + [(0, length - values.shape[-1])]
    return np.pad(values, widths, constant_values=end)


def _loss(flow: CouplingFlow, data: _Data, key: Key[Array, ""]) -> Array:
    """Minus the mean log density of a batch that is drawn by the weights."""
    uniform = jax.random.uniform(key, (data.batch_size,))
    index = jnp.searchsorted(data.cumulative, uniform, side="right")
    return -jnp.mean(flow_log_prob(flow, data.trained[:, index]))


def _held_out_loss(flow: CouplingFlow, data: _Data) -> Array:
    return -jnp.sum(data.held_out_weights * flow_log_prob(flow, data.held_out))
