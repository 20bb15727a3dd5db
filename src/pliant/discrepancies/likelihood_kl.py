"""The learned KL by a conditional density of single draws: a neural likelihood."""

import dataclasses
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import logsumexp

from pliant._checks import check_instance, check_integer
from pliant._devices import in_threads
from pliant.densities.categories import ConditionalCategories
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.densities.embeddings import AbstractEmbedding
from pliant.densities.training import FULL, Effort, Training, train
from pliant.discrepancies.draws import TrainingDraws, Widths, context_length
from pliant.discrepancies.ensemble import Ensemble
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy
from pliant.discrepancies.likelihood_network import (
    LikelihoodNetwork,
    density_loss,
    held_out_density_loss,
    held_out_kind_loss,
    kind_loss,
)
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.memory import Memory, Sizes
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.statistics import Summaries, fit_summary
from pliant.problem.problem import Problem
from pliant.problem.scale import Squash, Standardise

_MOST_NUMBERS = 100  # of an observation
_HEAD = 4  # times as many units for mean and covariance: they cost little and leave less error
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
        embedding: A network that learns statistics of long observations, as many as there are
            parameters, whose likelihood is then learned; None for the numbers themselves.
        layers: Coupling layers.
        bins: Bins of each spline.
        width: Units in each of the two hidden layers of the splines' networks; those of the
            Gaussian's mean and covariance have four times as many.
        training: Steps, rate and early stopping of each network in a round.
        batch_size: Draws in a gradient step.
        window: Rounds whose draws are kept to train on.
        networks: How many networks are averaged.
        n_evaluated: Particles that are weighted in a round, without simulating them; None for
            5000, or fewer with more than 1000 observations, 2000 at least.
        defensive_share: The share of a round's simulations with parameters of an earlier, broader
            posterior; None for none.
        approach: What the first rounds compare sets by, to come near the posterior before
            anything is learned; None to learn from the first round on.
    """

    by_kind: ClassVar[bool] = True
    reach: ClassVar[float] = 5.0

    embedding: AbstractEmbedding | None = None
    layers: int = eqx.field(static=True, default=4)
    bins: int = eqx.field(static=True, default=8)
    width: int = eqx.field(static=True, default=50)
    training: Training = Training(steps=3000, rate=1e-2, every=150, patience=20)
    batch_size: int = eqx.field(static=True, default=250)
    window: int = eqx.field(static=True, default=16)
    networks: int = eqx.field(static=True, default=3)
    n_evaluated: int | None = eqx.field(static=True, default=None)
    defensive_share: float | None = eqx.field(static=True, default=0.5)
    approach: AbstractMeasuredDiscrepancy | None = MMD()

    def __check_init__(self):
        if self.embedding is not None:
            check_instance(
                "embedding", self.embedding, AbstractEmbedding, "pliant.SeriesEmbedding()"
            )
        check_integer("layers", self.layers, at_least=1)
        check_integer("bins", self.bins, at_least=2)
        check_integer("width", self.width, at_least=1)

    def check(self, problem: Problem) -> None:
        """Densities of long observations are modelled by statistics only."""
        d = math.prod(problem.event_shape)
        if self.embedding is not None:
            shape = self.embedding.input_shape(problem.event_shape)
            self.embedding.build(jax.random.key(0), shape)
        elif d > _MOST_NUMBERS:
            raise ValueError(
                f"discrepancy: LikelihoodKL models observations of up to {_MOST_NUMBERS} "
                f"numbers, got {d}. Give it an embedding, such as pliant.SeriesEmbedding(), or use "
                "pliant.RatioKL(), which needs no density of them."
            )

    def untrained(
        self, key: Key[Array, ""], problem: Problem, widths: Widths, like: Any = None
    ) -> LikelihoodNetwork:
        """Standard normals for every parameter; no flow if a Gaussian alone was better."""
        parameters, own = widths.parameters, widths.own

        def flow(layers: int) -> ConditionalFlow:
            return ConditionalFlow(
                key,
                dim=widths.numbers,
                condition_dim=context_length(parameters, own + widths.kinds),
                layers=layers,
                bins=self.bins,
                width=self.width,
                head_width=_HEAD * self.width,
            )

        kinds = None
        if widths.kinds:
            kinds = ConditionalCategories(
                jax.random.fold_in(key, 1),
                categories=widths.kinds,
                condition_dim=context_length(parameters, own),
                width=_HEAD * self.width,
            )
        if not widths.numbers:
            return LikelihoodNetwork(None, None, kinds, own)
        if like is None:
            return LikelihoodNetwork(flow(0), flow(self.layers), kinds, own, deciding=True)
        only_gaussian = like.density is not None and like.density.is_gaussian
        return LikelihoodNetwork(flow(0), None if only_gaussian else flow(self.layers), kinds, own)

    def summarised(
        self,
        key: Key[Array, ""],
        problem: Problem,
        memory: Memory,
        given: tuple[Float[np.ndarray, " rounds"], Standardise, Sizes],
        last: Ensemble | None,
    ) -> tuple[Summaries | None, Squash, dict[str, float]]:
        """By the embedding, if there is one."""
        if self.embedding is None:
            return super().summarised(key, problem, memory, given, last)
        relevance, standardise, sizes = given
        known = None if last is None else last.summary
        squash = memory.simulated_squash() if known is None else known.squash
        data = memory.training_draws(relevance, squash, standardise, sizes)
        options = self.embedding, problem, memory, squash, data, known
        summary, unexplained = fit_summary(key, *options)
        return summary, squash, {"unexplained": unexplained}

    def prepared(self, data: TrainingDraws) -> TrainingDraws:
        """With their moments, from which Gaussians are learned."""
        return data.with_moments() if data.is_plain else data

    def trained(
        self,
        key: Key[Array, ""],
        network: LikelihoodNetwork,
        data: TrainingDraws,
        effort: Effort = FULL,
    ) -> tuple[LikelihoodNetwork, dict[str, Array]]:
        """First what tells kinds apart, if there are any, then the density of the numbers."""
        if network.kinds is None:
            return self._trained_density(key, network, data, effort)
        options = kind_loss, held_out_kind_loss, self.training, effort
        kinds, info = train(jax.random.fold_in(key, 1), network.kinds, data, *options)
        if network.density is not None:
            network, more = self._trained_density(key, network, data, effort)
            info = {name: info[name] + more[name] for name in info}
        return dataclasses.replace(network, kinds=kinds), info

    def _trained_density(
        self, key: Key[Array, ""], network: LikelihoodNetwork, data: TrainingDraws, effort: Effort
    ) -> tuple[LikelihoodNetwork, dict[str, Array]]:
        """A flow begins with a trained Gaussian, which is then left behind.

        The network that is to decide trains both, with equally many steps, until the Gaussian is
        clearly better. A flow that leads may only have learned the mean sooner.
        """
        keys, gaussian, flow = jax.random.split(key, 3), network.gaussian, network.flow
        options = density_loss, held_out_density_loss, self.training
        slower = effort.slowed(_FLOW_RATE)
        if gaussian is None or flow is None:
            only, own = (flow, slower) if gaussian is None else (gaussian, effort)
            assert only is not None
            density, info = train(keys[0], only, data, *options, own)
            return network.with_density(density), info
        if not network.begun:
            gaussian, _ = train(keys[0], gaussian, data, *options, effort)
            flow = eqx.tree_at(lambda f: f.head, flow, gaussian.head)
        if not network.deciding:
            flow, info = train(keys[1], flow, data, *options, slower)
            return dataclasses.replace(network, gaussian=None, flow=flow), info
        (flow, flow_info), (gaussian, info) = in_threads(
            lambda key, part, own: train(key, part, data, *options, own),
            (keys[1], keys[0] if network.begun else keys[2]),
            (flow, gaussian),
            (slower, effort),
        )
        gain = float(info["held_out"] - flow_info["held_out"])
        if gain < -_CLEAR:
            return LikelihoodNetwork(gaussian, None, network.kinds, network.n_own), info
        network = dataclasses.replace(
            network, gaussian=gaussian, flow=flow, begun=True, prefers_flow=gain > _MARGIN
        )
        return network, flow_info if network.prefers_flow else info

    def held_out_loss(self, network: LikelihoodNetwork, data: TrainingDraws) -> Float[Array, ""]:
        """Minus the mean log density."""
        total = jnp.zeros(())
        if network.kinds is not None:
            total = total + held_out_kind_loss(network.kinds, data)
        if network.density is not None:
            total = total + held_out_density_loss(network.density, data)
        return total

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
