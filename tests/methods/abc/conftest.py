"""A small population with unequal weights, one of its particles dead."""

import numpy as np
import pytest

from pliant.methods.abc.population import Population


@pytest.fixture
def population():
    rng = np.random.default_rng(0)
    log_weights = np.log(rng.gamma(2.0, size=12))
    log_weights[3] = -np.inf
    return Population(
        z=rng.normal(size=(12, 2)),
        log_prior=np.zeros(12),
        distance=rng.gamma(2.0, size=12),
        log_weights=log_weights,
        bandwidth=10.0,
    )
