"""A conditional density of one observation: its kind, and its numbers given the kind."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from pliant.densities.categories import ConditionalCategories
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.discrepancies.draws import (
    Examples,
    Moments,
    TrainingDraws,
    context,
    context_change,
)
from pliant.discrepancies.ensemble import AbstractNetwork

_MORE = 4  # times as many draws in a gradient step where a draw costs little


class LikelihoodNetwork(AbstractNetwork):
    """A conditional density of the observation: a Gaussian, a flow, or the better of both.

    Where observations are of several kinds, it is the probability of the kind, times the density
    of the numbers given the kind.
    """

    gaussian: ConditionalFlow | None
    """A flow without splines."""
    flow: ConditionalFlow | None
    kinds: ConditionalCategories | None = None
    n_own: int = eqx.field(static=True, default=0)
    """How many numbers tell what an observation was made under."""
    deciding: bool = eqx.field(static=True, default=False)
    """Whether it keeps both, to tell which is better."""
    begun: bool = eqx.field(static=True, default=False)
    """Whether both were trained before."""
    prefers_flow: bool = eqx.field(static=True, default=False)
    """Whether the flow predicts held-out draws better."""

    @property
    def density(self) -> ConditionalFlow | None:
        """The better one, or the only one; None if observations have nothing but a kind."""
        if self.gaussian is None or (self.flow is not None and self.prefers_flow):
            return self.flow
        return self.gaussian

    def with_density(self, density: ConditionalFlow) -> "LikelihoodNetwork":
        """With another density of the same kind, where there is one kind."""
        if self.flow is None:
            return dataclasses.replace(self, gaussian=density)
        return dataclasses.replace(self, flow=density)

    def log_values(self, x: Examples, theta: Float[Array, "c #B"]) -> Float[Array, " B"]:
        """Log densities."""
        total = jnp.zeros(())
        if self.kinds is not None and x.kind is not None:
            total = self.kinds.log_prob(x.kind, context(theta, x.own))
        if self.density is None:
            return total
        return total + _log_density(self.density, x, theta)

    def with_parameters(
        self, factor: Float[Array, " c"], shift: Float[Array, " c"]
    ) -> "LikelihoodNetwork":
        """The networks' first layers are linear in what they see of a parameter."""
        change = context_change(factor, shift, self.n_own)
        kinds = None if self.kinds is None else self.kinds.with_condition(*change)
        if self.kinds is not None:
            change = context_change(factor, shift, self.n_own + self.kinds.categories)
        gaussian, flow = (
            None if part is None else part.with_condition(*change)
            for part in (self.gaussian, self.flow)
        )
        return dataclasses.replace(self, gaussian=gaussian, flow=flow, kinds=kinds)


def _log_density(flow: ConditionalFlow, x: Examples, theta: Array) -> Float[Array, " B"]:
    """Of the numbers, given the parameter, what the observations were made under, and the kind."""
    own = x.own if x.kind is None else jnp.concatenate([x.own, x.kind])
    return flow.log_prob(x.u, context(theta, own), x.seen)


def density_loss(flow: ConditionalFlow, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    """Minus the mean log density of random draws.

    A Gaussian is computed once for a parameter. All draws of it cost no more than one, by their
    mean and covariance, unless each has a condition of its own.
    """
    round_key, param_key, draw_key = jax.random.split(key, 3)
    param = data.batch_params(param_key, data.batch_rounds(round_key, data.batch_size))
    if flow.is_gaussian and data.moments is not None:
        param = param[: -(-data.batch_size // 2)]
        moments = jax.tree.map(lambda leaf: leaf[..., param], data.moments)
        return _minus_log_prob_of_sets(flow, moments, data.condition[:, param])
    param, draw = _some_draws(draw_key, data, param, _MORE if flow.is_gaussian else 1)
    return _minus_log_prob(flow, data, param, draw)


@eqx.filter_jit
def held_out_density_loss(flow: ConditionalFlow, data: TrainingDraws) -> Array:
    """The same of the held-out parameters."""
    if flow.is_gaussian and data.held_out_moments is not None:
        condition = data.condition[:, data.held_out_params]
        return _minus_log_prob_of_sets(flow, data.held_out_moments, condition)
    return _minus_log_prob(flow, data, *_held_out_draws(data))


def kind_loss(kinds: ConditionalCategories, data: TrainingDraws, key: Key[Array, ""]) -> Array:
    """Minus the mean log probability of the kinds of random draws."""
    round_key, param_key, draw_key = jax.random.split(key, 3)
    param = data.batch_params(param_key, data.batch_rounds(round_key, data.batch_size))
    return _minus_log_kind(kinds, data, *_some_draws(draw_key, data, param, _MORE))


@eqx.filter_jit
def held_out_kind_loss(kinds: ConditionalCategories, data: TrainingDraws) -> Array:
    """The same of the held-out parameters."""
    return _minus_log_kind(kinds, data, *_held_out_draws(data))


def _some_draws(
    key: Key[Array, ""], data: TrainingDraws, param: Array, times: int
) -> tuple[Array, Array]:
    """Random draws, as many of each parameter as given, as pairs of indices."""
    param = jnp.repeat(param, times)
    return param, jax.random.randint(key, param.shape, 0, data.u.shape[1])


def _held_out_draws(data: TrainingDraws) -> tuple[Array, Array]:
    """Draws of the held-out parameters, as pairs of indices."""
    param, n_draws = data.held_out_params, data.n_held_out_draws
    return jnp.repeat(param, n_draws), jnp.tile(jnp.arange(n_draws), len(param))


def _minus_log_prob(flow: ConditionalFlow, data: TrainingDraws, param: Array, draw: Array) -> Array:
    log_q = _log_density(flow, data.examples(param, draw), data.condition[:, param])
    return _minus_mean(log_q, data.ok[param, draw])


def _minus_log_kind(
    kinds: ConditionalCategories, data: TrainingDraws, param: Array, draw: Array
) -> Array:
    x = data.examples(param, draw)
    assert x.kind is not None
    log_p = kinds.log_prob(x.kind, context(data.condition[:, param], x.own))
    return _minus_mean(log_p, data.ok[param, draw])


def _minus_log_prob_of_sets(
    flow: ConditionalFlow, moments: Moments, condition: Float[Array, "c B"]
) -> Array:
    """The same of a Gaussian, for all draws of each parameter."""
    log_q = flow.mean_gaussian_log_prob(moments.mean, moments.covariance, condition)
    return -jnp.sum(moments.n * log_q) / jnp.maximum(jnp.sum(moments.n), 1)


def _minus_mean(values: Array, ok: Array) -> Array:
    """Minus the mean over usable draws."""
    return -jnp.sum(jnp.where(ok, values, 0.0)) / jnp.maximum(jnp.sum(ok), 1)
