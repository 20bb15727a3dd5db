"""A real cluster of two worker processes, one of which dies in the middle of a round."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

import cloudpickle
import numpy as np
import numpyro.distributions as dist
import pytest
from distributed import Client, LocalCluster

import pliant

pytestmark = pytest.mark.training

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import JAX
METHOD = pliant.PLI(rounds=2, n_particles=100, n_draws=10, family=pliant.Gaussian())


def model(rng, theta):
    time.sleep(0.001)
    return theta["mu"] + theta["sigma"] * rng.normal(size=2)


def problem(**options):
    return pliant.Problem(
        {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        pliant.PythonSimulator(model, **options),
        2 + np.random.default_rng(0).normal(size=(30, 2)),
    )


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def killing(client, after):
    """Kill a worker process after some seconds."""
    killed = []

    def kill():
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    timer = threading.Timer(after, kill)
    timer.start()
    yield killed
    timer.join()


def test_a_cluster_gives_the_serial_posterior_though_a_worker_dies(client):
    serial = pliant.infer(problem(), METHOD)
    spread = problem(executor=client.get_executor())
    with killing(client, after=0.4) as killed:
        disturbed = pliant.infer(spread, METHOD)
    assert killed
    assert disturbed.status == serial.status == "finished"
    np.testing.assert_array_equal(
        disturbed.posterior.sample(100)["mu"], serial.posterior.sample(100)["mu"]
    )
    assert disturbed.history["distance_min"].tolist() == serial.history["distance_min"].tolist()
    assert not disturbed.failures
