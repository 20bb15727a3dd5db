"""Distances between the observed set and simulated sets."""

from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.discrepancies.energy import Energy
from pliant.discrepancies.euclidean import Euclidean
from pliant.discrepancies.lengthscales import PAPER_LENGTHSCALES
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.random_features import RandomFeatureMMD
from pliant.discrepancies.scaling import pilot_scale, with_scale
from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein
from pliant.discrepancies.wasserstein import Wasserstein

__all__ = [
    "MMD",
    "PAPER_LENGTHSCALES",
    "AbstractDiscrepancy",
    "Energy",
    "Euclidean",
    "RandomFeatureMMD",
    "SlicedWasserstein",
    "Wasserstein",
    "pilot_scale",
    "with_scale",
]
