"""Work that is shared out among two devices gives what one device gives."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from pliant._devices import share_out
from pliant.discrepancies.base import RoundOptions
from pliant.discrepancies.measured import MeasuredState, measure_parameters

DISCREPANCIES = {
    "features": pliant.MMD(most_partners=5),
    "wasserstein": pliant.Wasserstein(regularisation=0.5),
}


def distances() -> dict[str, np.ndarray]:
    """Of seven parameters, a number that two does not divide."""
    problem = pliant.tasks.get("slcp").problem(n_obs=10, seed=0)
    z = problem.prior.sample(jax.random.key(0), 7)
    found = {}
    for name, discrepancy in DISCREPANCIES.items():
        discrepancy = discrepancy.for_sizes(20, 10)
        state = MeasuredState(discrepancy, discrepancy.prepare(problem.observed))
        measurement = measure_parameters(jax.random.key(1), problem, state, z, RoundOptions(20))
        found[name] = measurement.distance
    return found


def places() -> int:
    """The number of devices that hold a part of the result."""
    doubled = jax.jit(lambda a: share_out(lambda a, b: b * a, a, jnp.array(2.0)))
    result = doubled(jnp.arange(6.0))
    np.testing.assert_array_equal(result, 2 * np.arange(6.0))
    return len(result.sharding.device_set)


@pytest.fixture(scope="module")
def on_two(tmp_path_factory):
    """What a process with two devices finds."""
    path = tmp_path_factory.mktemp("devices") / "found.npz"
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    subprocess.run(
        [sys.executable, __file__, str(path)], env=os.environ | {"XLA_FLAGS": flags}, check=True
    )
    return dict(np.load(path))


@pytest.mark.default_flags
def test_both_devices_work(on_two):
    assert places() == 1
    assert on_two["places"] == 2


@pytest.mark.default_flags
def test_two_devices_find_what_one_finds(on_two):
    for name, found in distances().items():
        np.testing.assert_array_equal(on_two[name], found, err_msg=name)


if __name__ == "__main__":
    np.savez(sys.argv[1], places=places(), **distances())
