"""The learned KL by a conditional density of single draws: a neural likelihood."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import logsumexp

from pliant._checks import check_integer
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.densities.training import FULL, Effort, Training, train
from pliant.discrepancies.draws import TrainingDraws
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, AbstractNetwork
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.mmd import MMD
from pliant.problem.problem import Problem

_SET = 20  # draws of a parameter in a gradient step of a Gaussian
_MOST_NUMBERS = 100  # of an observation
_HEAD = 2  # times as many units for mean and covariance: they cost little and leave less error
_FLOW_RATE = 0.3  # of the rate of Gaussians, whose steps have less noise
_CLEAR = 0.05  # nats a draw by which a Gaussian must be better for its flow to be given up
_MARGIN = 1e-3  # nats a draw by which a flow must be better: without, rounding would decide a tie


class LikelihoodKL(AbstractLearnedDiscrepancy):
    """A conditional spline flow q(x | theta), trained by maximum likelihood on single draws.

    For continuous data and counts of up to about a hundred numbers an observation; counts are
    spread evenly over their unit interval. Beside the first flow a Gaussian alone is trained, and
    is used from then on unless the flow predicts held-out draws better: where the likelihood is
    Gaussian, splines add nothing but time and noise (in a run on SLCP, six times the excess loss
    of a Gaussian).

    Args:
        layers: Coupling layers.
        bins: Bins of each spline.
        width: Units in each of the two hidden layers of the splines' networks; those of the
            Gaussian's mean and covariance have twice as many.
        training: Steps, rate and early stopping of each network in a round.
        batch_size: Draws in a gradient step.
        window: Rounds whose draws are kept to train on.
        networks: How many networks are averaged.
        n_evaluated: Particles that are weighted in a round, without simulating them.
        defensive_share: The share of a round's simulations with parameters of an earlier, broader
            posterior; None for none.
        approach: What the first rounds compare sets by, to come near the posterior before
            anything is learned; None to learn from the first round on.
    """

    layers: int = eqx.field(static=True, default=4)
    bins: int = eqx.field(static=True, default=8)
    width: int = eqx.field(static=True, default=50)
    training: Training = Training(steps=3000, rate=1e-2, every=150, patience=20)
    batch_size: int = eqx.field(static=True, default=250)
    window: int = eqx.field(static=True, default=16)
    networks: int = eqx.field(static=True, default=3)
    n_evaluated: int = eqx.field(static=True, default=5000)
    defensive_share: float | None = eqx.field(static=True, default=0.5)
    approach: AbstractMeasuredDiscrepancy | None = MMD()

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
        self, key: Key[Array, ""], problem: Problem, condition_dim: int, like: Any = None
    ) -> "LikelihoodNetwork":
        """Standard normals for every parameter; no flow if a Gaussian alone was better."""

        def flow(layers: int) -> ConditionalFlow:
            return ConditionalFlow(
                key,
                dim=math.prod(problem.event_shape),
                condition_dim=condition_dim,
                layers=layers,
                bins=self.bins,
                width=self.width,
                head_width=_HEAD * self.width,
            )

        if like is None:
            return LikelihoodNetwork(flow(0), flow(self.layers), deciding=True)
        return LikelihoodNetwork(flow(0), None if like.density.is_gaussian else flow(self.layers))

    def trained(
        self,
        key: Key[Array, ""],
        network: "LikelihoodNetwork",
        data: TrainingDraws,
        effort: Effort = FULL,
    ) -> tuple["LikelihoodNetwork", dict[str, Array]]:
        """A flow begins with a trained Gaussian, which is then left behind.

        The network that is to decide trains both, with equally many steps, until the Gaussian is
        clearly better. A flow that leads may only have learned the mean sooner.
        """
        keys, gaussian, flow = jax.random.split(key, 3), network.gaussian, network.flow
        options = _loss, _held_out_loss, self.training
        slower = effort.slowed(_FLOW_RATE)
        if gaussian is None or flow is None:
            own = slower if gaussian is None else effort
            density, info = train(keys[0], network.density, data, *options, own)
            return network.with_density(density), info
        gaussian, info = train(keys[0], gaussian, data, *options, effort)
        if not network.begun:
            flow = eqx.tree_at(lambda f: f.head, flow, gaussian.head)
        flow, flow_info = train(keys[1], flow, data, *options, slower)
        if not network.deciding:
            return LikelihoodNetwork(None, flow), flow_info
        if not network.begun:
            gaussian, info = train(keys[2], gaussian, data, *options, effort)
        gain = float(info["held_out"] - flow_info["held_out"])
        if gain < -_CLEAR:
            return LikelihoodNetwork(gaussian, None), info
        better = gain > _MARGIN
        network = LikelihoodNetwork(gaussian, flow, deciding=True, begun=True, prefers_flow=better)
        return network, flow_info if better else info

    def held_out_loss(self, network: "LikelihoodNetwork", data: TrainingDraws) -> Float[Array, ""]:
        """Minus the mean log density."""
        return _held_out_loss(network.density, data)

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
    """A conditional density of the observation: a Gaussian, a flow, or the better of both."""

    gaussian: ConditionalFlow | None
    """A flow without splines."""
    flow: ConditionalFlow | None
    deciding: bool = eqx.field(static=True, default=False)
    """Whether it keeps both, to tell which is better."""
    begun: bool = eqx.field(static=True, default=False)
    """Whether both were trained before."""
    prefers_flow: bool = eqx.field(static=True, default=False)
    """Whether the flow predicts held-out draws better."""

    @property
    def density(self) -> ConditionalFlow:
        """The better one, or the only one."""
        if self.gaussian is None or (self.flow is not None and self.prefers_flow):
            assert self.flow is not None
            return self.flow
        return self.gaussian

    def with_density(self, density: ConditionalFlow) -> "LikelihoodNetwork":
        """With another density of the same kind, where there is one kind."""
        if self.flow is None:
            return LikelihoodNetwork(density, None)
        return LikelihoodNetwork(None, density)

    def log_values(
        self, u: Float[Array, "d B"], condition: Float[Array, "c #B"]
    ) -> Float[Array, " B"]:
        """Log densities."""
        return self.density.log_prob(u, condition)

    def with_condition(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "LikelihoodNetwork":
        """The networks' first layers are linear in the condition."""
        gaussian, flow = (
            None if f is None else f.with_condition(factor, shift)
            for f in (self.gaussian, self.flow)
        )
        return dataclasses.replace(self, gaussian=gaussian, flow=flow)


def _loss(flow: ConditionalFlow, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    """Minus the mean log density of random draws.

    A Gaussian is computed once for a parameter, so that many draws of it cost hardly more than one.
    """
    round_key, param_key, draw_key = jax.random.split(key, 3)
    param = data.batch_params(param_key, data.batch_rounds(round_key, data.batch_size))
    if flow.is_gaussian:
        n_sets, n_draws = -(-data.batch_size // 2), min(_SET, data.u.shape[1])
        start = jax.random.randint(draw_key, (), 0, data.u.shape[1] - n_draws + 1)
        return _minus_log_prob_of_sets(flow, data, param[:n_sets], start + jnp.arange(n_draws))
    draw = jax.random.randint(draw_key, (data.batch_size,), 0, data.u.shape[1])
    u, ok = data.u[param, draw], data.ok[param, draw]
    return _minus_log_prob(flow, data.condition[:, param], u, ok)


@eqx.filter_jit
def _held_out_loss(flow: ConditionalFlow, data: TrainingDraws) -> Array:
    param = data.held_out_params
    if flow.is_gaussian:
        return _minus_log_prob_of_sets(flow, data, param, jnp.arange(data.u.shape[1]))
    u, ok = data.u[param].reshape(-1, data.u.shape[2]), data.ok[param].ravel()
    condition = jnp.repeat(data.condition[:, param], data.u.shape[1], axis=1)
    return _minus_log_prob(flow, condition, u, ok)


def _minus_log_prob(flow: ConditionalFlow, condition: Array, u: Array, ok: Array) -> Array:
    log_q = flow.log_prob(u.T, condition)
    return -jnp.sum(jnp.where(ok, log_q, 0.0)) / jnp.maximum(jnp.sum(ok), 1)


def _minus_log_prob_of_sets(
    flow: ConditionalFlow, data: TrainingDraws, param: Array, draws: Array
) -> Array:
    """The same of a Gaussian, for some draws of each parameter."""
    u, ok = data.u[param[:, None], draws[None]], data.ok[param[:, None], draws[None]]
    log_q = flow.gaussian_log_prob(jnp.moveaxis(u, 2, 0), data.condition[:, param])
    return -jnp.sum(jnp.where(ok, log_q, 0.0)) / jnp.maximum(jnp.sum(ok), 1)
