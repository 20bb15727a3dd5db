"""Pliant: posteriors of simulators from many observations at once.

The names below are loaded when they are first used, so that ``pliant --help`` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant import tasks as tasks
    from pliant.bandwidths.ess import EffectiveSampleSize as EffectiveSampleSize
    from pliant.bandwidths.fixed import Fixed as Fixed
    from pliant.bandwidths.quantile import Quantile as Quantile
    from pliant.bandwidths.trust_region import TrustRegion as TrustRegion
    from pliant.discrepancies.energy import Energy as Energy
    from pliant.discrepancies.euclidean import Euclidean as Euclidean
    from pliant.discrepancies.likelihood_kl import LikelihoodKL as LikelihoodKL
    from pliant.discrepancies.mmd import MMD as MMD
    from pliant.discrepancies.random_features import RandomFeatureMMD as RandomFeatureMMD
    from pliant.discrepancies.ratio_kl import RatioKL as RatioKL
    from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein as SlicedWasserstein
    from pliant.discrepancies.wasserstein import Wasserstein as Wasserstein
    from pliant.embeddings import Concatenation as Concatenation
    from pliant.embeddings import DeepSet as DeepSet
    from pliant.families.gaussian import Gaussian as Gaussian
    from pliant.families.mixture import GaussianMixture as GaussianMixture
    from pliant.families.spline_flow import SplineFlow as SplineFlow
    from pliant.inference import infer as infer
    from pliant.inference import resume as resume
    from pliant.kernels import EpanechnikovKernel as EpanechnikovKernel
    from pliant.kernels import ExponentialKernel as ExponentialKernel
    from pliant.kernels import GaussianKernel as GaussianKernel
    from pliant.kernels import UniformKernel as UniformKernel
    from pliant.methods.apt import APT as APT
    from pliant.methods.mh_abc import MHABC as MHABC
    from pliant.methods.pli import PLI as PLI
    from pliant.methods.pmc_abc import PMCABC as PMCABC
    from pliant.methods.rejection_abc import RejectionABC as RejectionABC
    from pliant.methods.smc_abc import SMCABC as SMCABC
    from pliant.partition import PartitionFunction as PartitionFunction
    from pliant.posterior import Posterior as Posterior
    from pliant.problem import Problem as Problem
    from pliant.result import Result as Result
    from pliant.result import load as load
    from pliant.simulators.command import CommandSimulator as CommandSimulator
    from pliant.simulators.python import PythonSimulator as PythonSimulator
    from pliant.training import Training as Training

__version__ = "0.1.0"

_MODULES = {
    "APT": "methods.apt",
    "CommandSimulator": "simulators.command",
    "Concatenation": "embeddings",
    "DeepSet": "embeddings",
    "EffectiveSampleSize": "bandwidths.ess",
    "Energy": "discrepancies.energy",
    "EpanechnikovKernel": "kernels",
    "Euclidean": "discrepancies.euclidean",
    "ExponentialKernel": "kernels",
    "Fixed": "bandwidths.fixed",
    "Gaussian": "families.gaussian",
    "GaussianKernel": "kernels",
    "GaussianMixture": "families.mixture",
    "LikelihoodKL": "discrepancies.likelihood_kl",
    "MHABC": "methods.mh_abc",
    "MMD": "discrepancies.mmd",
    "PLI": "methods.pli",
    "PMCABC": "methods.pmc_abc",
    "PartitionFunction": "partition",
    "Posterior": "posterior",
    "Problem": "problem",
    "PythonSimulator": "simulators.python",
    "Quantile": "bandwidths.quantile",
    "RandomFeatureMMD": "discrepancies.random_features",
    "RatioKL": "discrepancies.ratio_kl",
    "RejectionABC": "methods.rejection_abc",
    "Result": "result",
    "SMCABC": "methods.smc_abc",
    "SlicedWasserstein": "discrepancies.sliced_wasserstein",
    "SplineFlow": "families.spline_flow",
    "Training": "training",
    "TrustRegion": "bandwidths.trust_region",
    "UniformKernel": "kernels",
    "Wasserstein": "discrepancies.wasserstein",
    "infer": "inference",
    "load": "result",
    "resume": "inference",
}

__all__ = [*_MODULES, "tasks"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "tasks":
        return importlib.import_module("pliant.tasks")
    if name in _MODULES:
        value = getattr(importlib.import_module(f"pliant.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'pliant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
