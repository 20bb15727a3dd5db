"""Work that is shared out among devices or threads gives what one of them gives, in order."""

import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pliant
from pliant._devices import in_threads, share_out
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


def test_results_are_in_the_order_of_the_arguments():
    assert in_threads(lambda a, b: a - b, [5, 7, 9], [1, 2, 3]) == [4, 5, 6]


@pytest.mark.parametrize("cores", [2, 3])
def test_as_many_run_at_a_time_as_there_are_cores(cores, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    together = threading.Barrier(cores, timeout=30)  # passes only if all wait at the same time
    assert sorted(in_threads(lambda _: together.wait(), range(cores))) == list(range(cores))


def test_an_error_in_one_of_them_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda a: 1 / a, [1, 0, 2])


if __name__ == "__main__":
    np.savez(sys.argv[1], places=places(), **distances())
