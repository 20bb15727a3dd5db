"""The tables of what may stand in a file by its name: classes, supports and functions."""

import inspect
from typing import Any

import equinox as eqx
import jax
from numpyro.distributions import constraints

from pliant.densities import (
    affine,
    amortised,
    categories,
    conditional_flow,
    convolutions,
    coupling,
    embeddings,
    flow_mixture,
    gaussian,
    mixture,
    spline_flow,
    training,
)
from pliant.densities import particles as particle_densities
from pliant.discrepancies import (
    approach,
    draws,
    energy,
    ensemble,
    euclidean,
    learned,
    likelihood,
    likelihood_kl,
    likelihood_network,
    measured,
    memory,
    mmd,
    pairs,
    random_features,
    ratio_kl,
    reading,
    sliced_wasserstein,
    statistics,
    wasserstein,
)
from pliant.discrepancies import base as discrepancies_base
from pliant.methods import apt, base, pli
from pliant.methods.abc import mh, pmc, population, rejection, sampler, smc
from pliant.problem import scale, space
from pliant.run import failures, posterior
from pliant.weighting import final_check, kernels, partition, reuse, weights
from pliant.weighting.schedules import ess, fixed, quantile, trust_region

CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        # methods and their states
        *(pli.PLI, pli.PLIState, apt.APT, apt.APTState, apt.Pairs, base.Stop),
        *(rejection.RejectionABC, smc.SMCABC, pmc.PMCABC, mh.MHABC),
        *(sampler.ABCState, population.Population, rejection.Accepted),
        # discrepancies and their states
        *(mmd.MMD, mmd.MMDState, pairs.ObservedPairs, energy.Energy),
        *(random_features.RandomFeatureMMD, random_features.RandomFeatureState),
        *(wasserstein.Wasserstein, wasserstein.WassersteinState),
        *(sliced_wasserstein.SlicedWasserstein, sliced_wasserstein.SlicedWassersteinState),
        *(euclidean.Euclidean, euclidean.EuclideanState),
        *(likelihood_kl.LikelihoodKL, likelihood_network.LikelihoodNetwork),
        *(ratio_kl.RatioKL, ratio_kl.RatioNetwork),
        likelihood.LearnedLikelihood,
        *(learned.LearnedState, ensemble.Ensemble, memory.Memory, draws.RoundDraws),
        *(approach.Approach, reading.Reading, statistics.Statistics, statistics.Summaries),
        *(measured.MeasuredState, discrepancies_base.Particles),
        # weighting
        *(trust_region.TrustRegion, ess.EffectiveSampleSize, quantile.Quantile, fixed.Fixed),
        *(kernels.ExponentialKernel, kernels.GaussianKernel),
        *(kernels.UniformKernel, kernels.EpanechnikovKernel),
        *(partition.PartitionFunction, partition.PreparedPartition),
        *(weights.Tempering, reuse.EarlierRound, final_check.FinalCheck),
        # families, densities and networks
        *(gaussian.Gaussian, gaussian.GaussianDensity, affine.AffineDensity),
        *(mixture.GaussianMixture, mixture.MixtureDensity),
        *(spline_flow.SplineFlow, spline_flow.FlowDensity, coupling.CouplingFlow),
        flow_mixture.FlowMixture,
        *(conditional_flow.ConditionalFlow, conditional_flow.GaussianHead),
        categories.ConditionalCategories,
        *(amortised.AmortisedDensity, training.Training),
        *(particle_densities.ParticleDensity, particle_densities.KernelMixture),
        *(embeddings.Concatenation, embeddings.ConcatenationNetwork),
        *(embeddings.DeepSet, embeddings.DeepSetNetwork, eqx.nn.MLP, eqx.nn.Linear),
        *(convolutions.SeriesEmbedding, convolutions.ImageEmbedding),
        *(convolutions.ModuleEmbedding, convolutions.ConvolutionalNetwork),
        convolutions.ConvolutionalLayer,
        # parameters
        *(space.Space, scale.Squash, scale.Standardise, posterior.Posterior, failures.Failure),
    )
}

SUPPORTS: dict[str, Any] = {
    kind.__name__: kind
    for kind in vars(constraints).values()
    if isinstance(kind, type) and issubclass(kind, constraints.Constraint)
}

FUNCTIONS: dict[str, Any] = {
    "identity": inspect.signature(eqx.nn.MLP).parameters["final_activation"].default,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
    "tanh": jax.numpy.tanh,
}
