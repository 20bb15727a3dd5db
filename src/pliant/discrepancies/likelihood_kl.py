"""The learned KL by a conditional density of single draws: a neural likelihood."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import logsumexp

from pliant._checks import check_integer
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.densities.training import Training, train
from pliant.discrepancies.draws import TrainingDraws
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, AbstractNetwork
from pliant.problem.problem import Problem

_MOST_NUMBERS = 100  # of an observation


class LikelihoodKL(AbstractLearnedDiscrepancy):
    """A conditional spline flow q(x | theta), trained by maximum likelihood on single draws.

    For continuous data and counts of up to about a hundred numbers an observation; counts are
    spread evenly over their unit interval. Beside each flow a Gaussian alone is trained, and the
    one of the two that predicts held-out draws better is used: where the likelihood is Gaussian,
    splines add nothing but noise (in a run on SLCP, six times the excess loss of a Gaussian).

    Args:
        layers: Coupling layers.
        bins: Bins of each spline.
        width: Units in each of the two hidden layers of every network.
        training: Steps, rate and early stopping of each network in a round.
        batch_size: Draws in a gradient step.
        window: Rounds whose draws are kept to train on.
        networks: How many networks are averaged.
        n_evaluated: Particles that are weighted in a round, without simulating them.
        defensive_share: The share of a round's simulations with parameters of an earlier, broader
            posterior; None for none.
    """

    layers: int = eqx.field(static=True, default=4)
    bins: int = eqx.field(static=True, default=8)
    width: int = eqx.field(static=True, default=50)
    training: Training = Training(steps=1000, rate=3e-3, every=100, patience=10)
    batch_size: int = eqx.field(static=True, default=250)
    window: int = eqx.field(static=True, default=24)
    networks: int = eqx.field(static=True, default=3)
    n_evaluated: int = eqx.field(static=True, default=5000)
    defensive_share: float | None = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        check_integer("layers", self.layers, at_least=1)
        check_integer("bins", self.bins, at_least=2)
        check_integer("width", self.width, at_least=1)

    def check(self, problem: Problem) -> None:
        """Densities of long observations are not modelled."""
        d = math.prod(problem.event_shape)
        if d > _MOST_NUMBERS:
            raise ValueError(
                f"discrepancy: LikelihoodKL models observations of up to {_MOST_NUMBERS} "
                f"numbers, got {d}. Use pliant.RatioKL(), which needs no density of them."
            )

    def untrained(
        self, key: Key[Array, ""], problem: Problem, condition_dim: int
    ) -> "LikelihoodNetwork":
        """Standard normals for every parameter."""

        def flow(layers: int) -> ConditionalFlow:
            return ConditionalFlow(
                key,
                dim=math.prod(problem.event_shape),
                condition_dim=condition_dim,
                layers=layers,
                bins=self.bins,
                width=self.width,
            )

        return LikelihoodNetwork(flow(0), flow(self.layers), jnp.asarray(True))

    def trained(
        self, key: Key[Array, ""], network: "LikelihoodNetwork", data: TrainingDraws
    ) -> tuple["LikelihoodNetwork", dict[str, Array]]:
        """The Gaussian, and the flow, which begins with the Gaussian of the first round."""
        keys, flow = jax.random.split(key), network.flow
        gaussian, info = train(
            keys[0], network.gaussian, data, _loss, _held_out_loss, self.training
        )
        if data.rounds == 1:
            flow = eqx.tree_at(lambda f: f.head, flow, gaussian.head)
        flow, flow_info = train(keys[1], flow, data, _loss, _held_out_loss, self.training)
        use_gaussian = info["held_out"] <= flow_info["held_out"]
        info = info if use_gaussian else flow_info
        return LikelihoodNetwork(gaussian, flow, use_gaussian), info

    def held_out_loss(self, network: "LikelihoodNetwork", data: TrainingDraws) -> Float[Array, ""]:
        """Minus the mean log density."""
        return _held_out_loss(network.gaussian if network.use_gaussian else network.flow, data)

    def averaged(
        self,
        log_values: Float[np.ndarray, "networks K N"],
        shares: Float[np.ndarray, " networks"],
    ) -> Float[np.ndarray, "K N"]:
        """The mixture of the networks' densities.

        The errors of single networks cost each of them half their variance, in nats, of the mean
        log density. A mixture of densities has that back, the mean of their logarithms not.
        """
        weights = shares.astype(np.float32)[:, None, None]
        return np.asarray(logsumexp(log_values, axis=0, b=weights))


class LikelihoodNetwork(AbstractNetwork):
    """A conditional density of the observation."""

    gaussian: ConditionalFlow
    """A flow without splines."""
    flow: ConditionalFlow
    use_gaussian: Bool[Array, ""]
    """Which of the two predicts held-out draws better."""

    def log_values(
        self, u: Float[Array, "d B"], condition: Float[Array, "c B"]
    ) -> Float[Array, " B"]:
        """Log densities."""
        return jax.lax.cond(
            self.use_gaussian,
            lambda: self.gaussian.log_prob(u, condition),
            lambda: self.flow.log_prob(u, condition),
        )

    def with_condition(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "LikelihoodNetwork":
        """The networks' first layers are linear in the condition."""
        gaussian, flow = (f.with_condition(factor, shift) for f in (self.gaussian, self.flow))
        return LikelihoodNetwork(gaussian, flow, self.use_gaussian)


def _loss(flow: ConditionalFlow, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    """Minus the mean log density of random draws."""
    round_key, param_key, draw_key = jax.random.split(key, 3)
    param = data.batch_params(param_key, data.batch_rounds(round_key, data.batch_size))
    draw = jax.random.randint(draw_key, (data.batch_size,), 0, data.u.shape[1])
    u, ok = data.u[param, draw], data.ok[param, draw]
    return _minus_log_prob(flow, data.condition[:, param], u, ok)


@eqx.filter_jit
def _held_out_loss(flow: ConditionalFlow, data: TrainingDraws) -> Array:
    param = data.held_out_params
    u, ok = data.u[param].reshape(-1, data.u.shape[2]), data.ok[param].ravel()
    condition = jnp.repeat(data.condition[:, param], data.u.shape[1], axis=1)
    return _minus_log_prob(flow, condition, u, ok)


def _minus_log_prob(flow: ConditionalFlow, condition: Array, u: Array, ok: Array) -> Array:
    log_q = flow.log_prob(u.T, condition)
    return -jnp.sum(jnp.where(ok, log_q, 0.0)) / jnp.maximum(jnp.sum(ok), 1)
