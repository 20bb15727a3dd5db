"""Pliant: posteriors of simulators from many observations at once.

The names below are loaded when they are first used, so that ``pliant --help`` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant import tasks as tasks
    from pliant.densities.embeddings import Concatenation as Concatenation
    from pliant.densities.embeddings import DeepSet as DeepSet
    from pliant.densities.gaussian import Gaussian as Gaussian
    from pliant.densities.mixture import GaussianMixture as GaussianMixture
    from pliant.densities.spline_flow import SplineFlow as SplineFlow
    from pliant.densities.training import Training as Training
    from pliant.discrepancies.energy import Energy as Energy
    from pliant.discrepancies.euclidean import Euclidean as Euclidean
    from pliant.discrepancies.likelihood_kl import LikelihoodKL as LikelihoodKL
    from pliant.discrepancies.mmd import MMD as MMD
    from pliant.discrepancies.random_features import RandomFeatureMMD as RandomFeatureMMD
    from pliant.discrepancies.ratio_kl import RatioKL as RatioKL
    from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein as SlicedWasserstein
    from pliant.discrepancies.wasserstein import Wasserstein as Wasserstein
    from pliant.methods.abc.mh import MHABC as MHABC
    from pliant.methods.abc.pmc import PMCABC as PMCABC
    from pliant.methods.abc.rejection import RejectionABC as RejectionABC
    from pliant.methods.abc.smc import SMCABC as SMCABC
    from pliant.methods.apt import APT as APT
    from pliant.methods.pli import PLI as PLI
    from pliant.methods.status import Status as Status
    from pliant.problem.problem import Problem as Problem
    from pliant.run.infer import infer as infer
    from pliant.run.infer import resume as resume
    from pliant.run.posterior import Posterior as Posterior
    from pliant.run.result import Result as Result
    from pliant.run.result import load as load
    from pliant.simulators.command import CommandSimulator as CommandSimulator
    from pliant.simulators.python import PythonSimulator as PythonSimulator
    from pliant.weighting.kernels import EpanechnikovKernel as EpanechnikovKernel
    from pliant.weighting.kernels import ExponentialKernel as ExponentialKernel
    from pliant.weighting.kernels import GaussianKernel as GaussianKernel
    from pliant.weighting.kernels import UniformKernel as UniformKernel
    from pliant.weighting.partition import PartitionFunction as PartitionFunction
    from pliant.weighting.schedules.ess import EffectiveSampleSize as EffectiveSampleSize
    from pliant.weighting.schedules.fixed import Fixed as Fixed
    from pliant.weighting.schedules.quantile import Quantile as Quantile
    from pliant.weighting.schedules.trust_region import TrustRegion as TrustRegion

__version__ = "0.1.0"

_MODULES = {
    "APT": "methods.apt",
    "CommandSimulator": "simulators.command",
    "Concatenation": "densities.embeddings",
    "DeepSet": "densities.embeddings",
    "EffectiveSampleSize": "weighting.schedules.ess",
    "Energy": "discrepancies.energy",
    "EpanechnikovKernel": "weighting.kernels",
    "Euclidean": "discrepancies.euclidean",
    "ExponentialKernel": "weighting.kernels",
    "Fixed": "weighting.schedules.fixed",
    "Gaussian": "densities.gaussian",
    "GaussianKernel": "weighting.kernels",
    "GaussianMixture": "densities.mixture",
    "LikelihoodKL": "discrepancies.likelihood_kl",
    "MHABC": "methods.abc.mh",
    "MMD": "discrepancies.mmd",
    "PLI": "methods.pli",
    "PMCABC": "methods.abc.pmc",
    "PartitionFunction": "weighting.partition",
    "Posterior": "run.posterior",
    "Problem": "problem.problem",
    "PythonSimulator": "simulators.python",
    "Quantile": "weighting.schedules.quantile",
    "RandomFeatureMMD": "discrepancies.random_features",
    "RatioKL": "discrepancies.ratio_kl",
    "RejectionABC": "methods.abc.rejection",
    "Result": "run.result",
    "SMCABC": "methods.abc.smc",
    "SlicedWasserstein": "discrepancies.sliced_wasserstein",
    "SplineFlow": "densities.spline_flow",
    "Status": "methods.status",
    "Training": "densities.training",
    "TrustRegion": "weighting.schedules.trust_region",
    "UniformKernel": "weighting.kernels",
    "Wasserstein": "discrepancies.wasserstein",
    "infer": "run.infer",
    "load": "run.result",
    "resume": "run.infer",
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
