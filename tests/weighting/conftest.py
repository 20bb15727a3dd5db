"""Particles with random densities and distances."""

import numpy as np
import pytest

from pliant.discrepancies.base import Particles


@pytest.fixture(scope="session")
def particles():
    def make(seed=0, n=2000, spread=1.0, unusable=0):
        rng = np.random.default_rng(seed)
        distance = spread * rng.chisquare(5, n)
        distance[:unusable] = np.inf
        return Particles(
            z=rng.normal(size=(n, 2)),
            log_prior=rng.normal(size=n),
            log_q=rng.normal(size=n),
            distance=distance,
            log_partition=np.zeros(n),
        )

    return make
